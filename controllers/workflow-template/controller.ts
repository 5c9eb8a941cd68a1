import { setCondition } from "#api/conditions.ts";
import type { Action, ActionStatus, Workflow, WorkflowStatus } from "#api/kinds/workflow.ts";
import { type KubeObject, keyOf } from "#api/meta.ts";
import { actions, workflows } from "#api/resources.ts";
import type { Work } from "#api/work.ts";
import type { ControllerDeps, Informers } from "#controllers/informers.ts";
import { type Controller, createController } from "#kube/controller.ts";
import { inSlices } from "#kube/in-slices.ts";
import type { Informer } from "#kube/informer.ts";
import { done, type Outcome } from "#kube/outcome.ts";
import type { ResourceType } from "#kube/resource.ts";
import { isNotFound } from "#kube/transport.ts";
import { compilingAction, compilingWorkflow } from "#workflows/compile-workflow.ts";
import { type FieldError, formatErrors } from "#workflows/field-error.ts";
import type { Templates } from "#workflows/plan.ts";

/** Result of compiling one template: what the condition Valid says. */
export type Verdict = { readonly ok: true } | { readonly ok: false; readonly errors: readonly FieldError[] };

/** The status of a template after compiling it, or undefined when it says that already. */
export function templateStatus(
  object: Workflow | Action,
  verdict: Verdict,
  now: number,
): WorkflowStatus | ActionStatus | undefined {
  const observedGeneration = object.metadata.generation ?? 0;
  const says = verdict.ok
    ? ({ status: "True", reason: "Valid", message: "the template compiles" } as const)
    : ({ status: "False", reason: "Invalid", message: formatErrors(verdict.errors) } as const);
  const old = object.status?.conditions ?? [];
  const conditions = setCondition(old, { type: "Valid", ...says, observedGeneration }, now);
  if (conditions === old && object.status?.observedGeneration === observedGeneration) return undefined;
  const size =
    "jobs" in object.spec ? { jobs: Object.keys(object.spec.jobs).length } : { steps: object.spec.steps.length };
  return { observedGeneration, ...size, conditions: [...conditions] };
}

/**
 * Compiles every Workflow and Action when it, or something that it uses, is created, changed or deleted, and says in condition Valid what
 * came of it.
 */
export function createWorkflowTemplate(deps: ControllerDeps, informers: Informers): Controller {
  const controller = createController({ name: "workflow-template", reconcile, ...deps });
  for (const [kind, informer] of [
    ["workflow", informers.workflows],
    ["action", informers.actions],
  ] as const) {
    informer.onChange((old, next) => {
      // Our own status write changes no generation.
      if (next?.metadata.generation === old?.metadata.generation) return;
      const object = next ?? old;
      if (object === undefined) return;
      if (next !== undefined) controller.enqueue(`${kind}/${keyOf(next)}`);
      for (const user of usersOf(`${kind === "workflow" ? "Workflow" : "Action"}/${keyOf(object)}`)) {
        controller.enqueue(`workflow/${user}`);
      }
    });
  }

  /** Keys of the Workflows that use it, directly and by others. */
  function usersOf(used: string): Set<string> {
    const users = new Set<string>();
    for (const open = [used]; open.length > 0; ) {
      for (const workflow of informers.workflows.byIndex("uses", open.pop() ?? "")) {
        const key = keyOf(workflow);
        if (users.has(key)) continue;
        users.add(key);
        open.push(`Workflow/${key}`);
      }
    }
    return users;
  }

  function templatesOf(namespace: string | undefined): Templates {
    return {
      workflow: (name) => informers.workflows.get(`${namespace}/${name}`)?.spec,
      action: (name) => informers.actions.get(`${namespace}/${name}`)?.spec,
    };
  }

  async function reconcile(key: string): Promise<Outcome> {
    const [kind, ...rest] = key.split("/");
    const name = rest.join("/");
    if (kind === "workflow") {
      return judge(workflows, informers.workflows, informers.workflows.get(name), ({ metadata, spec }) =>
        compilingWorkflow(spec, { path: "spec", templates: templatesOf(metadata.namespace) }),
      );
    }
    return judge(actions, informers.actions, informers.actions.get(name), ({ spec }) => compilingAction(spec));
  }

  async function judge<T extends (Workflow | Action) & KubeObject>(
    resource: ResourceType<T>,
    informer: Informer<T>,
    object: T | undefined,
    compile: (object: T) => Work<Verdict>,
  ): Promise<Outcome> {
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return done;
    const status = templateStatus(object, await inSlices(compile(object), deps.clock), deps.clock.now());
    if (status === undefined) return done;
    try {
      const written = await deps.client.of(resource).update({ ...object, status }, "status");
      informer.noteWrite(written, object.metadata.resourceVersion);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return done;
  }

  return controller;
}
