import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import type { JobStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { annotations, labels } from "#api/labels.ts";
import type { KubeObject } from "#api/meta.ts";
import type { Amounts } from "#api/quantity.ts";
import type { WaitingReason } from "#api/reasons.ts";
import { persistentWorkspaces, runs, runtimes, workflowActions, workflowRuns, workflows } from "#api/resources.ts";
import { isTerminal, requestsOf } from "#api/runs.ts";
import { capacityOf, replicasOf } from "#api/runtimes.ts";
import { parseTime } from "#api/time.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { conditionOf, controllerRevisions, type Pod, pods, replicaSets } from "#kube/builtin.ts";
import type { ResourceType } from "#kube/resource.ts";
import { isActive } from "#machines/derive.ts";
import { executionKey } from "#runtime/executor-client.ts";
import { actionTtlSeconds } from "../components.ts";
import type { World } from "../world.ts";
import type { PodFacts } from "./rule.ts";

/**
 * What is not yet as it must be once nothing goes wrong any more: everything has ended, or waits and says truly why.
 * Everything else is settled. Judged by the objects alone, not by the code that made them so.
 */
export async function unsettled(world: World, machines: readonly PodFacts[]): Promise<string[]> {
  return [
    ...world.objects(runs).flatMap((run) => runProblem(world, run) ?? []),
    ...world.objects(workflowRuns).flatMap((flow) => flowProblem(world, flow) ?? []),
    ...world.objects(workflowActions).flatMap((action) => actionProblem(world, action) ?? []),
    ...world.objects(runtimes).flatMap((runtime) => poolProblems(world, runtime)),
    ...leftovers(world),
    ...machines.flatMap((machine) => strayPrograms(world, machine)),
    ...(await Promise.all(machines.map((machine) => strayFiles(world, machine)))).flat(),
  ];
}

/** How late an answered action may be collected, for clocks that are wrong and caches that are behind. */
const collectionMs = 10_000;

const isReady = (pod: Pod) =>
  pod.metadata.deletionTimestamp === undefined &&
  pod.status?.phase === "Running" &&
  conditionOf(pod.status.conditions, "Ready")?.status === "True";

/** Pods that have ended stay as objects until somebody deletes them, here as in a real cluster. */
const isLiving = ({ status }: Pod) => status?.phase !== "Failed" && status?.phase !== "Succeeded";

const podsOf = (world: World, runtime: string) =>
  world.objects(pods).filter((pod) => pod.metadata.labels?.[labels.runtime] === runtime && isLiving(pod));

/** Undefined when the Run has ended, or waits for what it says it waits for. */
function runProblem(world: World, run: Run): string | undefined {
  const { phase, reason, message } = run.status ?? { phase: "Pending" };
  if (isTerminal(phase)) return undefined;
  const says = `Run ${run.metadata.name} is ${phase} ${reason ?? "without a reason"} (${message ?? ""})`;
  if (phase !== "Pending") return says;
  const why = obstacles(world, run);
  if (why.length === 0) return `${says}, but nothing is in its way`;
  return why.some((each) => each === reason) ? undefined : `${says}, but the reason is ${why.join(" or ")}`;
}

/** Why the Run cannot be placed while no other Run is at work; none when it can. */
function obstacles(world: World, run: Run): WaitingReason[] {
  const runtime = world.object(runtimes, run.spec.runtime);
  if (runtime === undefined) return ["RuntimeNotFound"];
  let places = podsOf(world, run.spec.runtime).filter(isReady);
  if (run.spec.workspace !== undefined) {
    const workspace = world.object(persistentWorkspaces, run.spec.workspace.name);
    if (workspace === undefined) return ["WorkspaceNotFound"];
    const { phase, boundPodUID } = workspace.status ?? {};
    if (phase === "Lost") return ["WorkspaceLost"];
    if (phase === "Released" || workspace.metadata.deletionTimestamp !== undefined) return ["WorkspaceReleased"];
    if (phase !== "Bound") return ["WorkspaceNotBound"];
    places = places.filter(({ metadata }) => metadata.uid === boundPodUID);
    if (places.length === 0) return ["WorkspacePodNotReady"];
  }
  const required = run.spec.affinity?.runAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  // Nobody else is at work: only a Run that matches its own term may begin.
  const alone = required.some(({ labelSelector }) =>
    Object.entries(labelSelector.matchLabels ?? {}).some(([key, value]) => run.metadata.labels?.[key] !== value),
  );
  const fitting = places.some((pod) => fits(requestsOf(run.spec) ?? {}, capacityOn(pod)));
  const room: WaitingReason[] = places.length === 0 ? ["NoReadyPods"] : fitting ? [] : ["InsufficientCapacity"];
  return alone ? [...room, "AffinityNotSatisfied"] : room;
}

/**
 * Undefined when the run has ended, or each job that has not waits for something that people have to do. What is suspended waits for
 * a Resume: nothing of it need be at work.
 */
function flowProblem(world: World, flow: WorkflowRun): string | undefined {
  const { status = { phase: "Pending" as const }, metadata, spec } = flow;
  const records = status.appliedActions?.map(({ name }) => name) ?? [];
  if (records.length > 0) return `WorkflowRun ${metadata.name} still has records of ${records.join()}`;
  if (hasEnded(status.phase)) return undefined;
  const jobs = Object.entries(status.jobs ?? {});
  const active = jobs.filter(([, { phase }]) => isActive({ phase }));
  const isFull = active.length >= (spec.parallelism ?? Number.POSITIVE_INFINITY);
  const isSuspended = (status.phase === "Suspended" && status.suspended === true) || isHeld(world, flow);
  const stuck = jobs.filter(([id, job]) => {
    if (job.phase === "Queued") return !isFull && !isSuspended;
    if (job.phase === "Suspended") return job.steps?.some(({ gate }) => gate?.deadline !== undefined);
    if (isSuspended && !job.steps?.some(isActive)) return false;
    return isActive({ phase: job.phase }) && !waits(world, flow, id, job);
  });
  // Jobs that clean up may wait like others.
  const mayWait = status.phase === "Running" || (status.phase === "Stopping" && status.reason === "Stopped");
  if (stuck.length === 0 && (isSuspended || (mayWait && active.length > 0))) return undefined;
  return `WorkflowRun ${metadata.name} is ${status.phase}: ${stuck.map(([id, job]) => `${id} ${job.phase}`).join(", ")}`;
}

/** Whether a run that this one is a job of, or a job of a job of, is suspended. */
function isHeld(world: World, { metadata }: WorkflowRun): boolean {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === workflowRuns.kind);
  const parent = owner && world.object(workflowRuns, owner.name);
  return parent !== undefined && (parent.status?.suspended === true || isHeld(world, parent));
}

/** Undefined when the action is answered, and not kept for longer than it should. */
function actionProblem(world: World, { metadata, status }: WorkflowAction): string | undefined {
  const says = `WorkflowAction ${metadata.name} is ${status?.phase ?? "Pending"}`;
  if (status === undefined || status.phase === "Pending") return says;
  const age = world.clock.now() - (parseTime(status.completionTime) ?? 0);
  return age > actionTtlSeconds * 1000 + collectionMs ? `${says} since ${status.completionTime}` : undefined;
}

/** The Run of the step at work waits (that it says why truly is looked at elsewhere), or cannot be made without its Runtime. */
function waits(world: World, { metadata, status }: WorkflowRun, id: string, job: JobStatus): boolean {
  // A job that is a run of its own waits as long as that one does, which is looked at by itself.
  const child = world.object(workflowRuns, job.workflowRunName ?? "");
  if (child !== undefined) return !hasEnded(child.status?.phase);
  const active = job.steps?.find(isActive);
  const run = world.object(runs, active?.runName ?? "");
  if (run !== undefined) return run.status?.phase === "Pending";
  const says = status?.conditions?.find(({ type }) => type === "WorkspaceReady")?.message ?? "";
  const isMissing = world
    .objects(persistentWorkspaces)
    .filter((workspace) => workspace.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) === true)
    .filter((workspace) => workspace.metadata.labels?.[labels.job] === id)
    .some((workspace) => world.object(runtimes, workspace.spec.runtime) === undefined);
  return isMissing && says.includes(`job ${id} waits`);
}

const capacityOn = (pod: Pod): Amounts =>
  JSON.parse(pod.metadata.annotations?.[annotations.capacity] ?? "{}") as Amounts;

const fits = (requests: Amounts, capacity: Amounts) =>
  Object.entries(requests).every(([name, amount]) => amount <= (capacity[name] ?? 0));

/** The pool is as large as asked, up to date, and says so. */
function poolProblems(world: World, runtime: Runtime): string[] {
  const { name, uid, generation } = runtime.metadata;
  const wanted = replicasOf(runtime.spec);
  const all = podsOf(world, name);
  const ready = all.filter(isReady);
  const sets = world
    .objects(replicaSets)
    .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid) === true);
  const { status } = runtime;
  const capacity = capacityOf(runtime.spec) ?? {};
  const draining = all.filter(({ metadata }) => metadata.annotations?.[annotations.draining] !== undefined);
  return [
    ...(all.length === wanted && ready.length === wanted
      ? []
      : [`Runtime ${name} has ${ready.length} ready of ${all.length} Pods, not ${wanted}`]),
    ...(draining.length === 0 ? [] : [`Runtime ${name} has ${draining.length} Pods that drain`]),
    ...(sets.length === 1 ? [] : [`Runtime ${name} has ${sets.length} ReplicaSets`]),
    ...(all.every((pod) => fits(capacity, capacityOn(pod)) && fits(capacityOn(pod), capacity))
      ? []
      : [`Runtime ${name} has Pods of another capacity`]),
    ...(status?.readyReplicas === wanted && status.replicas === wanted && status.activeRuns === 0
      ? []
      : [`Runtime ${name} says ${JSON.stringify(status)}`]),
    ...(status?.observedGeneration === generation ? [] : [`Runtime ${name} has not seen generation ${generation}`]),
  ];
}

/** Objects that are being deleted and do not go, or whose owner has gone. */
function leftovers(world: World): string[] {
  const kinds: readonly ResourceType<KubeObject>[] = [
    runs,
    workflowRuns,
    persistentWorkspaces,
    runtimes,
    workflows,
    pods,
    replicaSets,
    controllerRevisions,
  ] as readonly ResourceType<KubeObject>[];
  const all = kinds.flatMap((kind) => world.objects(kind).map((object) => ({ kind: kind.kind, object })));
  const uids = new Set(all.map(({ object }) => object.metadata.uid));
  return all.flatMap(({ kind, object: { metadata } }) => {
    const what = `${kind} ${metadata.name}`;
    if (metadata.deletionTimestamp !== undefined)
      return [`${what} is being deleted and stays (${metadata.finalizers})`];
    const orphan = metadata.ownerReferences?.find(({ uid }) => !uids.has(uid));
    return orphan === undefined ? [] : [`${what} has lost its owner ${orphan.kind} ${orphan.name}`];
  });
}

/** Programs run only for Runs that say so. */
function strayPrograms(world: World, machine: PodFacts): string[] {
  return machine.running.map((id) => {
    const status = world.runOf(id.runUid)?.status;
    return `${executionKey(id)} runs on ${machine.name}, and its Run says ${status?.phase} ${status?.attempt}`;
  });
}

/** On a living Pod there are the files of workspaces that are bound to it, and of Runs that wait; of none that is over. */
async function strayFiles(world: World, machine: PodFacts): Promise<string[]> {
  const pod = world.objects(pods).find(({ metadata }) => metadata.uid === machine.uid);
  if (pod === undefined) return [`Pod ${machine.name} is gone, its directory is not`];
  if (!isLiving(pod)) return [];
  const list = async (path: string) => {
    const found = await machine.files.list(`${machine.files.root}/${path}`, 10_000).catch(() => []);
    return found.map(({ name }) => name);
  };
  const waiting = new Set(
    world
      .objects(runs)
      .filter(({ status }) => (status?.phase ?? "Pending") === "Pending")
      .map(({ metadata }) => metadata.uid),
  );
  const ofRuns = [...(await list("runs")), ...(await list(".kruntimes/runs"))];
  const ofWorkspaces = (await list("persistent")).filter(
    (name) => world.object(persistentWorkspaces, name)?.status?.boundPodUID !== machine.uid,
  );
  return [
    ...ofRuns
      .filter((uid) => !waiting.has(uid))
      .map((uid) => `files of Run ${world.runOf(uid)?.metadata.name} are left on ${machine.name}`),
    ...ofWorkspaces.map((name) => `files of workspace ${name} are left on ${machine.name}`),
  ];
}
