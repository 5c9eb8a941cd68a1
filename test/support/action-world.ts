import type { JobSpec } from "#api/kinds/job.ts";
import type { Run, RunStatus } from "#api/kinds/run.ts";
import type { WorkflowAction, WorkflowActionSpec, WorkflowActionStatus } from "#api/kinds/workflow-action.ts";
import type { WorkflowRun, WorkflowRunSpec, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import type { ObjectMeta } from "#api/meta.ts";
import { runs, runtimes, workflowActions, workflowRuns } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { createTally } from "#controllers/tally.ts";
import { createWorkflowRunTtl } from "#controllers/ttl/index.ts";
import { createWorkflowActionController } from "#controllers/workflow-action/index.ts";
import { createWorkflowRunController } from "#controllers/workflow-run/index.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";

export const namespace = "default";

/** A step that runs a script. */
export const step = (name: string) => ({ name, run: "true" });

/** A job of steps, each of which is one child Run. */
export const job = (names: readonly string[], more: Partial<JobSpec> = {}): JobSpec => ({
  "runs-on": "bash",
  steps: names.map(step),
  ...more,
});

/** An Event that was emitted. */
export interface Said {
  readonly kind: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/** WorkflowRuns and WorkflowActions under their real controllers; child Runs do what the tests say. */
export class ActionWorld {
  readonly plane = new ControlPlane();
  readonly tally = createTally();
  readonly said: Said[] = [];

  async start(
    settings: { readonly actionTtlSeconds?: number; readonly deprecatedFields?: "honour" | "ignore" } = {},
  ): Promise<this> {
    await this.plane.create(runtimes, {
      metadata: { name: "bash", namespace },
      spec: { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
    });
    const recorder = {
      event: ({ kind }: { kind: string }, type: string, reason: string, message: string) => {
        this.said.push({ kind, type, reason, message });
      },
    };
    await this.plane.start((deps, informers) => {
      const all = { ...deps, recorder, tally: this.tally };
      return [
        createWorkflowRunController(all, informers, {
          workspaceTtlSeconds: 60,
          deprecatedFields: settings.deprecatedFields ?? "honour",
        }),
        createWorkflowRunTtl(all, informers),
        createWorkflowActionController(all, informers, { ttlSeconds: settings.actionTtlSeconds ?? 86_400 }),
      ];
    });
    return this;
  }

  stop(): void {
    this.plane.stop();
  }

  async run(name: string, jobs: Record<string, JobSpec>, more: Partial<WorkflowRunSpec> = {}): Promise<WorkflowRun> {
    const made = await this.plane.create(workflowRuns, { metadata: { name, namespace }, spec: { jobs, ...more } });
    await this.plane.settle();
    return made;
  }

  /** Creates an action and lets the controllers do what they do. */
  async ask(
    target: string,
    action: string,
    more: Omit<Partial<WorkflowActionSpec>, "action"> = {},
    metadata: Partial<ObjectMeta> = {},
  ): Promise<WorkflowActionStatus> {
    const made = await this.create(target, action, more, metadata);
    await this.plane.settle();
    return (await this.action(made.metadata.name)).status ?? { phase: "Pending" };
  }

  create(
    target: string,
    action: string,
    more: Omit<Partial<WorkflowActionSpec>, "action"> = {},
    metadata: Partial<ObjectMeta> = {},
  ): Promise<WorkflowAction> {
    const named = {
      namespace,
      ...metadata,
      ...(metadata.name === undefined && { generateName: `${action.toLowerCase()}-` }),
    };
    return this.plane.client.of(workflowActions).create({
      metadata: named as ObjectMeta,
      spec: { workflowRef: { name: target }, action, ...more },
    });
  }

  /** Changes the spec, as people do who do not know of actions. */
  async change(name: string, spec: Pick<WorkflowRunSpec, "suspend" | "shutdown">): Promise<void> {
    await this.plane.client.of(workflowRuns).patch({ name, namespace }, { spec });
    await this.plane.settle();
  }

  action(name: string): Promise<WorkflowAction> {
    return this.plane.client.of(workflowActions).get({ name, namespace });
  }

  target(name: string): Promise<WorkflowRun> {
    return this.plane.client.of(workflowRuns).get({ name, namespace });
  }

  async status(name: string): Promise<WorkflowRunStatus> {
    return (await this.target(name)).status ?? { phase: "Pending" };
  }

  /** The child Run of a step, of its last attempt. */
  async child(of: string, jobId: string, stepName: string): Promise<Run | undefined> {
    const name = (await this.status(of)).jobs?.[jobId]?.steps?.find((each) => each.name === stepName)?.runName;
    return name === undefined ? undefined : this.plane.find(runs, name);
  }

  /** Ends a child Run as scheduler and agent would. */
  async finish(
    of: string,
    jobId: string,
    stepName: string,
    phase: "Succeeded" | "Failed" | "Cancelled" = "Succeeded",
    more: Partial<RunStatus> = {},
  ): Promise<void> {
    const child = await this.child(of, jobId, stepName);
    if (child === undefined) throw new Error(`${of}: ${jobId}/${stepName} has no Run`);
    await this.#end(child, phase, more);
  }

  /** Ends the child Run of a step of the Action that a step uses. */
  async finishInner(
    of: string,
    jobId: string,
    stepName: string,
    inner: string,
    phase: "Succeeded" | "Failed" | "Cancelled" = "Succeeded",
  ): Promise<void> {
    const user = (await this.status(of)).jobs?.[jobId]?.steps?.find(({ name }) => name === stepName);
    const name = user?.steps?.find((each) => each.name === inner)?.runName;
    const child = name === undefined ? undefined : await this.plane.find(runs, name);
    if (child === undefined) throw new Error(`${of}: ${jobId}/${stepName}/${inner} has no Run`);
    await this.#end(child, phase, {});
  }

  async #end(child: Run, phase: "Succeeded" | "Failed" | "Cancelled", more: Partial<RunStatus>): Promise<void> {
    const now = timestamp(this.plane.clock.now());
    const placed = { assignedPod: "p", assignedPodUID: "u", assignmentEpoch: 1 };
    const claimed = { ...placed, attempt: 1, startTime: now };
    const why =
      phase === "Succeeded" ? {} : { reason: phase === "Failed" ? "ExitNonZero" : "Cancelled", message: "no" };
    const statuses: RunStatus[] = [
      { phase: "Scheduled", ...placed },
      { phase: "Running", ...claimed },
      { phase, ...claimed, ...why, completionTime: now, ...more },
    ];
    let object = child;
    for (const status of statuses) object = await this.plane.client.of(runs).update({ ...object, status }, "status");
    await this.plane.settle();
  }
}
