import type { Workflow } from "#api/kinds/workflow.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { snapshotName } from "#api/names.ts";
import { workflows } from "#api/resources.ts";
import type { ControllerDeps, Informers } from "#controllers/informers.ts";
import { type ControllerRevision, controllerRevisions } from "#kube/builtin.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { isAlreadyExists } from "#kube/transport.ts";
import { compileWorkflow } from "#workflows/compile-workflow.ts";
import { runtimeLanguage } from "#workflows/script/language.ts";
import { readSnapshot, snapshotOf } from "#workflows/snapshot.ts";
import type { Source } from "./seen.ts";

/** Finds and keeps the graphs of WorkflowRuns. */
export interface Sources {
  of(run: WorkflowRun): Promise<Source>;
  /** Freezes what the run refers to. Somebody else's object of that name is found by the next pass. */
  freeze(run: WorkflowRun, name: string): Promise<void>;
  forget(uid: string): void;
}

/** A compiled graph is kept for as long as its run is known: the spec, or its frozen copy, never changes. */
export function createSources(deps: ControllerDeps, informers: Informers): Sources {
  const { client } = deps;
  const revisions = client.of(controllerRevisions);
  const compiled = new Map<string, Source>();

  async function find(run: WorkflowRun): Promise<Source> {
    const { jobs, workflowRef } = run.spec;
    if (jobs !== undefined) return { kind: "plan", compiled: compile(run, jobs) };
    const name = run.status?.snapshotRef?.name ?? snapshotName(run.metadata.name, run.metadata.uid ?? "");
    const revision = await getRevision(run, name);
    if (revision !== undefined) {
      const read = readSnapshot(revision, run);
      if (!read.ok) return { kind: "collision", name };
      return { kind: "plan", compiled: compile(run, read.snapshot.workflow.spec.jobs), snapshotRef: name };
    }
    const workflow = await getWorkflow(run);
    if (workflow === undefined) return { kind: "missing", workflow: workflowRef?.name ?? "" };
    // What does not compile is not worth a copy: the errors are the answer.
    const plan = compile(run, workflow.spec.jobs);
    return plan.ok ? { kind: "unfrozen", name } : { kind: "plan", compiled: plan };
  }

  function compile(run: WorkflowRun, jobs: Workflow["spec"]["jobs"]) {
    return compileWorkflow(
      { jobs },
      {
        path: "spec",
        languageOf: (name) => {
          const runtime = informers.runtimes.get(`${run.metadata.namespace}/${name}`);
          return runtime && runtimeLanguage(runtime.spec);
        },
      },
    );
  }

  async function getRevision(run: WorkflowRun, name: string): Promise<ControllerRevision | undefined> {
    return orNothing(revisions.get({ name, namespace: run.metadata.namespace }));
  }

  async function getWorkflow(run: WorkflowRun): Promise<Workflow | undefined> {
    const ref = { name: run.spec.workflowRef?.name ?? "", namespace: run.metadata.namespace };
    return informers.workflows.get(`${ref.namespace}/${ref.name}`) ?? orNothing(client.of(workflows).get(ref));
  }

  return {
    async of(run) {
      const uid = run.metadata.uid ?? "";
      const known = compiled.get(uid);
      if (known !== undefined) return known;
      const source = await find(run);
      // Anything else may be another thing in the next pass.
      if (source.kind === "plan" && source.compiled.ok) compiled.set(uid, source);
      return source;
    },
    async freeze(run, name) {
      const workflow = await getWorkflow(run);
      if (workflow === undefined) return;
      const revision = snapshotOf(run, workflow);
      if (revision.metadata.name !== name) throw new Error(`a snapshot named ${name} was asked for`);
      try {
        await revisions.create(revision);
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    },
    forget(uid) {
      compiled.delete(uid);
    },
  };
}
