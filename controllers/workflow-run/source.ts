import type { JobSpec } from "#api/kinds/job.ts";
import type { Workflow, WorkflowSpec } from "#api/kinds/workflow.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { snapshotName } from "#api/names.ts";
import { actions, workflowRuns, workflows } from "#api/resources.ts";
import type { ControllerDeps, Informers } from "#controllers/informers.ts";
import { type ControllerRevision, controllerRevisions } from "#kube/builtin.ts";
import { inSlices } from "#kube/in-slices.ts";
import type { Informer } from "#kube/informer.ts";
import { orNothing } from "#kube/or-nothing.ts";
import type { ResourceType } from "#kube/resource.ts";
import { isAlreadyExists } from "#kube/transport.ts";
import {
  type Collected,
  type CollectResult,
  collectTemplates,
  templatesIn,
  templatesOf,
  usedBy,
} from "#workflows/collect-templates.ts";
import { compilingWorkflow } from "#workflows/compile-workflow.ts";
import type { Templates } from "#workflows/plan.ts";
import { inputsOfRun } from "#workflows/run-inputs.ts";
import { runtimeLanguage } from "#workflows/script/language.ts";
import { readSnapshot, type Snapshot, snapshotOf } from "#workflows/snapshot.ts";
import { maxLevels } from "#workflows/uses.ts";
import { ownerOf } from "./family.ts";
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
  const compiled = new Map<string, PlanSource>();

  async function find(run: WorkflowRun): Promise<Source> {
    const { jobs, workflowRef } = run.spec;
    if (jobs !== undefined && usesNothing(jobs)) return compile(run, { jobs }, templatesIn(nothing));
    const wanted = workflowRef?.name ?? "";
    const root = await rootOf(run);
    if (root === undefined) return { kind: "missing", workflow: wanted };
    const name = snapshotName(root.metadata.name, root.metadata.uid ?? "");
    const revision = await orNothing(revisions.get({ name, namespace: root.metadata.namespace }));
    if (revision !== undefined) return frozen(run, root, revision);
    // A job that is a Workflow never takes a live one.
    if (root !== run) return { kind: "missing", workflow: wanted };

    const { spec, used } = await gather(run);
    if (spec === undefined) return { kind: "missing", workflow: wanted };
    if (!used.ok) return { kind: "plan", compiled: used, inputs: {} };
    const plan = await compile(run, spec, templatesOf(used));
    // What does not compile is not worth a copy: the errors are the answer.
    return plan.compiled.ok ? { kind: "unfrozen", name } : plan;
  }

  async function frozen(run: WorkflowRun, root: WorkflowRun, revision: ControllerRevision): Promise<Source> {
    const { name } = revision.metadata;
    const read = readSnapshot(revision, root);
    if (!read.ok) return { kind: "collision", name };
    const spec = specOf(run, root, read.snapshot);
    if (spec === undefined) return { kind: "missing", workflow: run.spec.workflowRef?.name ?? "" };
    return { ...(await compile(run, spec, templatesIn(read.snapshot))), snapshotRef: name };
  }

  async function compile(run: WorkflowRun, spec: Spec, templates: Templates): Promise<PlanSource> {
    const work = compilingWorkflow(spec, {
      path: "spec",
      templates,
      languageOf: (name) => {
        const runtime = informers.runtimes.get(`${run.metadata.namespace}/${name}`);
        return runtime && runtimeLanguage(runtime.spec);
      },
    });
    const result = await inSlices(work, deps.clock);
    if (!result.ok) return { kind: "plan", compiled: result, inputs: {} };
    return withInputs({ kind: "plan", compiled: result, inputs: {} }, run);
  }

  /** What a run at the top executes, and everything that this uses, as it is now. */
  async function gather(run: WorkflowRun): Promise<{ workflow?: Workflow; spec?: Spec; used: CollectResult }> {
    const { namespace } = run.metadata;
    const finder = {
      workflow: (name: string) => lookUp(informers.workflows, workflows, namespace, name),
      action: (name: string) => lookUp(informers.actions, actions, namespace, name),
    };
    const { jobs, workflowRef } = run.spec;
    const workflow = workflowRef && (await finder.workflow(workflowRef.name));
    const spec = jobs === undefined ? workflow?.spec : { jobs };
    if (spec === undefined) return { used: { ok: true, ...nothing } };
    const used = await collectTemplates(spec.jobs, finder, "spec.jobs");
    return { ...(workflow === undefined ? {} : { workflow }), spec, used };
  }

  /** The run at the top whose job, or whose job's job, this run is; undefined when one of them is gone. */
  async function rootOf(run: WorkflowRun): Promise<WorkflowRun | undefined> {
    let root = run;
    for (let level = 0; level < maxLevels; level++) {
      const owner = ownerOf(root);
      if (owner === undefined) return root;
      const parent = await lookUp(informers.workflowRuns, workflowRuns, run.metadata.namespace, owner.name);
      if (parent?.metadata.uid !== owner.uid) return undefined;
      root = parent;
    }
    return undefined;
  }

  /** From the cache, and live when it is not there. */
  async function lookUp<T extends KubeObject>(
    informer: Informer<T>,
    resource: ResourceType<T>,
    namespace: string | undefined,
    name: string,
  ): Promise<T | undefined> {
    return informer.get(`${namespace}/${name}`) ?? orNothing(client.of(resource).get({ name, namespace }));
  }

  return {
    async of(run) {
      const uid = run.metadata.uid ?? "";
      const known = compiled.get(uid);
      // A Retry may have given it other inputs since.
      if (known !== undefined) return withInputs(known, run);
      const source = await find(run).catch((error: unknown): Source => ({ kind: "unavailable", error }));
      // Anything else may be another thing in the next pass.
      if (source.kind === "plan" && source.compiled.ok) compiled.set(uid, source);
      return source;
    },
    async freeze(run, name) {
      const { workflow, spec, used } = await gather(run);
      if (spec === undefined || !used.ok) return;
      const revision = snapshotOf(run, workflow, used);
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

type Spec = Pick<WorkflowSpec, "jobs">;
type PlanSource = Source & { readonly kind: "plan" };

/** The graph with the context `inputs` as the run has them now; those that do not fit are its errors. */
function withInputs(source: PlanSource, run: WorkflowRun): PlanSource {
  const { compiled } = source;
  if (!compiled.ok) return source;
  const inputs = inputsOfRun(compiled.plan.inputs, run);
  return inputs.ok ? { ...source, inputs: inputs.values } : { ...source, compiled: inputs, inputs: {} };
}

const nothing = { workflows: [], actions: [] } satisfies Collected;

function usesNothing(jobs: Readonly<Record<string, JobSpec>>): boolean {
  const { workflows: flows, actions: steps } = usedBy(jobs);
  return flows.length + steps.length === 0;
}

/** The jobs that a run executes, by the snapshot of the run at the top. */
function specOf(run: WorkflowRun, root: WorkflowRun, snapshot: Snapshot): Spec | undefined {
  const { jobs, workflowRef } = run.spec;
  if (jobs !== undefined) return { jobs };
  if (run === root) return snapshot.workflow?.spec;
  return snapshot.workflows.find(({ name }) => name === workflowRef?.name)?.spec;
}
