/** What each move of a WorkflowRun writes: pure functions from the fields before to the fields after. */
import { type ConditionState, findCondition, setCondition } from "#api/conditions.ts";
import { jsonEqual } from "#api/json.ts";
import type { AppliedAction, JobStatus, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import type { Condition } from "#api/meta.ts";
import type { Reason } from "#api/reasons.ts";
import { parseTime, timestamp } from "#api/time.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { isBad, progressOf } from "./derive.ts";
import { jobMachine, jobStatus, newJob, restoreJob } from "./job.ts";
import { type CancelReason, cancelReasons } from "./job-status.ts";
import { step } from "./lib/settle.ts";
import { clip, firstLine } from "./lib/text.ts";
import { cannotStartReasons } from "./step-status.ts";

/** A WorkflowRun's status without its phase. */
export type WorkflowRunFields = Omit<WorkflowRunStatus, "phase">;

type Jobs = Record<string, JobStatus>;

/** Why a WorkflowRun cannot be started. */
export const invalidReasons = [
  "InvalidWorkflow",
  "WorkflowNotFound",
  "NameCollision",
] as const satisfies readonly Reason[];
export type InvalidReason = (typeof invalidReasons)[number];

/** When a run ends, and what its jobs wrote until then. */
interface End {
  readonly outputs?: Readonly<Record<string, string>>;
  readonly now: number;
}

interface Why extends End {
  readonly reason: Reason;
  readonly message: string;
}

/** Lists the jobs; the first attempt begins. */
export function start(
  fields: WorkflowRunFields,
  begin: { jobs: readonly string[]; snapshotRef?: string; now: number },
): WorkflowRunFields {
  const { snapshotRef, now } = begin;
  const jobs = Object.fromEntries(begin.jobs.map((id) => [id, newJob()]));
  return {
    ...fields,
    attempt: fields.attempt ?? 1,
    ...(snapshotRef !== undefined && { snapshotRef: { name: snapshotRef } }),
    startTime: timestamp(now),
    jobs,
    progress: progressOf(jobs),
  };
}

/** Whether {@link setJobs} would change anything. */
export function jobsChanged(fields: WorkflowRunFields, jobs: Jobs): boolean {
  return !jsonEqual(fields.jobs ?? {}, jobs);
}

export function setJobs(fields: WorkflowRunFields, jobs: Jobs): WorkflowRunFields {
  return { ...fields, jobs, progress: progressOf(jobs) };
}

export function succeed(fields: WorkflowRunFields, end: End): WorkflowRunFields {
  return ended(fields, "True", { reason: "RunCompleted", message: "all jobs ended well", ...end });
}

/** An end without success; jobs that have not started never will. */
export function fail(fields: WorkflowRunFields, why: Why): WorkflowRunFields {
  const message = clip(why.message);
  return { ...ended(skipRest(fields, { ...why, message }), "False", { ...why, message }), reason: why.reason, message };
}

/** The end that a job brought about: the one that ended first of those that ended badly. */
export function failByJob(fields: WorkflowRunFields, when: End): WorkflowRunFields {
  const [id, job] = firstBad(fields.jobs ?? {}) ?? [];
  const cause = [job?.reason, job?.message && firstLine(job.message)].filter(Boolean).join(": ");
  return fail(fields, {
    reason: reasonOf(job?.reason),
    message: `job ${id} did not succeed${cause === "" ? "" : ` (${cause})`}`,
    ...when,
  });
}

/** Asked to end: says why while it does. */
export function stop(
  fields: WorkflowRunFields,
  { reason, message }: { reason: CancelReason; message: string },
): WorkflowRunFields {
  return { ...fields, reason, message: clip(message) };
}

/** How a run can be asked to end, and what it says of itself then. */
const shutdownReasons = { Stop: "Stopped", Terminate: "Terminated" } as const;
export type Shutdown = keyof typeof shutdownReasons;

/** Asked to end by somebody. What stands there already is not taken back: a run that is out of time stays that. */
export function shutDown(
  fields: WorkflowRunFields,
  shutdown: Shutdown,
  { message, bySpec }: { message: string; bySpec?: true },
): WorkflowRunFields {
  const marked = { ...fields, shutdown, ...(bySpec && { observedSpecShutdown: shutdown }) };
  if (fields.reason === "TimedOut" && shutdown === "Stop") return marked;
  return stop(marked, { reason: shutdownReasons[shutdown], message });
}

/** Asked to end when there is nothing to wait for. */
export function shutDownNow(
  fields: WorkflowRunFields,
  shutdown: Shutdown,
  { message, bySpec, now }: { message: string; bySpec?: true; now: number },
): WorkflowRunFields {
  const marked = { ...fields, shutdown, ...(bySpec && { observedSpecShutdown: shutdown }) };
  return fail(marked, { reason: shutdownReasons[shutdown], message, now });
}

/** Nothing new is started from now on. */
export function suspend(fields: WorkflowRunFields, now: number): WorkflowRunFields {
  const message = "what runs goes on, nothing new is started";
  return set({ ...fields, suspended: true }, { type: "Suspended", status: "True", reason: "Suspended", message }, now);
}

export function resume(fields: WorkflowRunFields, now: number): WorkflowRunFields {
  const { suspended: _, ...rest } = fields;
  return set(rest, { type: "Suspended", status: "False", reason: "Resumed", message: "it goes on" }, now);
}

/** Notes that `spec.suspend` was looked at, and does what it says now. */
export function followSpec(fields: WorkflowRunFields, wanted: boolean, now: number): WorkflowRunFields {
  const noted = { ...fields, observedSpecSuspend: wanted };
  if ((fields.suspended ?? false) === wanted) return noted;
  return wanted ? suspend(noted, now) : resume(noted, now);
}

/** Goes on with these jobs: nothing of the end is left, and time begins to count anew. */
export function retry(
  fields: WorkflowRunFields,
  again: {
    jobs: Jobs;
    inputs?: Record<string, unknown>;
    suspend?: boolean;
    shutdown?: Shutdown;
    now: number;
  },
): WorkflowRunFields {
  const { reason: _reason, message: _message, completionTime: _end, outputs: _outputs, ...left } = fields;
  const { shutdown: _shutdown, suspended: _suspended, conditions, observedSpecShutdown: _spec, ...rest } = left;
  const gone = new Set(["Succeeded", "Finished", "Suspended"]);
  const kept = conditions?.filter(({ type }) => !gone.has(type)) ?? [];
  const { jobs, inputs, suspend, shutdown, now } = again;
  return {
    ...rest,
    ...(inputs !== undefined && { inputs }),
    attempt: (fields.attempt ?? 1) + 1,
    startTime: timestamp(now),
    jobs,
    progress: progressOf(jobs),
    ...(kept.length > 0 && { conditions: kept }),
    // What the spec still says was said of the attempt before.
    ...(suspend !== undefined && { observedSpecSuspend: suspend }),
    ...(shutdown !== undefined && { observedSpecShutdown: shutdown }),
  };
}

/** Writes down what was made of actions, before they are told. */
export function record(fields: WorkflowRunFields, records: readonly AppliedAction[]): WorkflowRunFields {
  return { ...fields, appliedActions: [...(fields.appliedActions ?? []), ...records] };
}

/** Whether {@link forgetActions} would forget any. */
export function knowsAny(fields: WorkflowRunFields, uids: readonly string[]): boolean {
  return fields.appliedActions?.some(({ uid }) => uids.includes(uid)) ?? false;
}

/** Forgets actions that have been told, or are gone. */
export function forgetActions(fields: WorkflowRunFields, uids: readonly string[]): WorkflowRunFields {
  const { appliedActions = [], ...rest } = fields;
  const left = appliedActions.filter(({ uid }) => !uids.includes(uid));
  return left.length === 0 ? rest : { ...rest, appliedActions: left };
}

/** Ended as asked: the reason is the one that stands there since. */
export function stopped(fields: WorkflowRunFields, when: End): WorkflowRunFields {
  const reason = cancelReasons.find((each) => each === fields.reason) ?? "TimedOut";
  return fail(fields, { reason, message: fields.message ?? "", ...when });
}

/** The condition of a run that has a job without a place for its files. */
export function workspaceWaits(message: string): ConditionState {
  return { type: "WorkspaceReady", status: "False", reason: "WorkspaceCapacity", message: clip(message) };
}

export const workspaceReady = {
  type: "WorkspaceReady",
  status: "True",
  reason: "WorkspaceAvailable",
  message: "the files of all running jobs are available",
} as const satisfies ConditionState;

/** Whether the condition would change by being set. */
export function isNews(fields: WorkflowRunFields, says: ConditionState): boolean {
  const old = findCondition(fields.conditions, says.type);
  return old?.status !== says.status || old.reason !== says.reason || old.message !== says.message;
}

/** Whether a job was said to wait for a place for its files. */
export function waited(fields: WorkflowRunFields): boolean {
  return findCondition(fields.conditions, "WorkspaceReady")?.status === "False";
}

export function set(fields: WorkflowRunFields, says: ConditionState, now: number): WorkflowRunFields {
  return { ...fields, conditions: [...setCondition(fields.conditions, says, now)] };
}

function ended(fields: WorkflowRunFields, succeeded: Condition["status"], why: Why): WorkflowRunFields {
  const { reason, message, now, outputs = {} } = why;
  // Nobody waits for a place for files any more.
  const conditions = fields.conditions?.filter((each) => each.type !== "WorkspaceReady" || each.status === "True");
  const rest = {
    ...fields,
    ...(conditions !== undefined && { conditions }),
    ...(Object.keys(outputs).length > 0 && { outputs: { ...outputs } }),
  };
  const first = set(rest, { type: "Succeeded", status: succeeded, reason, message }, now);
  return set({ ...first, completionTime: timestamp(now) }, { type: "Finished", status: "True", reason, message }, now);
}

/** Reasons of a job that say more about the run than JobFailed does. */
function reasonOf(job: string | undefined): Reason {
  return (["WorkspaceLost", ...cannotStartReasons] as const).find((reason) => reason === job) ?? "JobFailed";
}

function firstBad(jobs: Jobs): [string, JobStatus] | undefined {
  const when = (job: JobStatus) => parseTime(job.completionTime) ?? Number.POSITIVE_INFINITY;
  return Object.entries(jobs)
    .filter(([, job]) => isBad(job))
    .sort(([idA, a], [idB, b]) => when(a) - when(b) || (idA < idB ? -1 : 1))[0];
}

/** Jobs that have not started get their end from their own machine. */
function skipRest(fields: WorkflowRunFields, why: Why): WorkflowRunFields {
  const reason = cancelReasons.find((each) => each === why.reason);
  const open = Object.entries(fields.jobs ?? {}).filter(([, job]) => !hasEnded(job.phase));
  if (reason === undefined || open.length === 0) return fields;
  const skipped = open.map(([id, job]) => {
    const event = { type: "SKIP", reason, message: why.message, now: why.now } as const;
    return [id, jobStatus(step(jobMachine, restoreJob(job), event).snapshot)] as const;
  });
  return setJobs(fields, { ...fields.jobs, ...Object.fromEntries(skipped) });
}
