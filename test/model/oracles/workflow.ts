import { stableJson } from "#api/json.ts";
import {
  always,
  claims,
  common,
  condition,
  field,
  finished,
  type Heed,
  has,
  type Move,
  number,
  type Oracle,
  type Status,
  saysSame,
  tellsOutputs,
} from "./oracle.ts";

const ends = ["Succeeded", "Failed", "Cancelled", "Skipped"];
const runEnds = ["Succeeded", "Failed"];
const hasEnded = (member: Status) => ends.includes(member.phase);
const endedWell = (member: Status) => hasEnded(member) && !isBad(member);

const stepsOf = (job: Status) => (job.steps ?? []) as readonly Status[];
const jobsOf = (run: Status) => Object.values((run.jobs ?? {}) as Readonly<Record<string, Status>>);

const isActive = (member: Status) => ["Running", "Suspended", "Stopping"].includes(member.phase);

const isBad = (member: Status) =>
  (member.phase === "Failed" && member.continued !== true) || member.phase === "Cancelled";
const hasNames = (status: Status) => number(status.collision) < 100;
const differs = (a: unknown, b: unknown) => stableJson(a) !== stableJson(b);

export const stepOracle: Oracle = {
  terminal: ends,
  heeds: {
    Waiting: always("START", "CANNOT_START", "SKIP"),
    Running: {
      ...always("RUN_SUCCEEDED", "RUN_FAILED", "RUN_CANCELLED", "RUN_MISSING"),
      ...always("NAME_TAKEN", "RUN_REFUSED", "REPLACE", "CANCEL"),
      RUN_SEEN: (before, event) =>
        !has(before, "startTime") ||
        before.reason !== field(event, "reason") ||
        !saysSame(before.message, field(event, "message")) ||
        number(field(event, "attempt") ?? before.attempt) !== number(before.attempt),
    },
    Stopping: always("RUN_SUCCEEDED", "RUN_FAILED", "RUN_CANCELLED", "RUN_MISSING", "CANCEL"),
  },
  leadsTo: {
    START: ["Running"],
    CANNOT_START: ["Failed"],
    SKIP: ["Skipped"],
    RUN_SEEN: ["stays"],
    RUN_SUCCEEDED: ["Succeeded"],
    RUN_FAILED: ["Failed"],
    RUN_CANCELLED: ({ before }) => [before.phase === "Stopping" ? "Cancelled" : "Failed"],
    RUN_MISSING: ({ before }) =>
      before.phase === "Stopping" ? ["Cancelled"] : [has(before, "startTime") ? "Failed" : "Running"],
    // What was seen to exist and has gone was deleted; before that, there are 100 more names to try.
    NAME_TAKEN: ({ before }) => (!has(before, "startTime") && hasNames(before) ? ["stays"] : ["Failed"]),
    RUN_REFUSED: ["Failed"],
    REPLACE: ({ before }) => (hasNames(before) ? ["stays"] : ["Failed"]),
    CANCEL: ["Stopping"],
  },
  writersOf: () => ["controller"],
  check: (move) => {
    const { before, after, effects } = move;
    const isAtWork = after.phase === "Running" || after.phase === "Stopping";
    return claims({
      ...common({ terminal: ends }, move),
      "a step at work names its Run": !isAtWork || (has(after, "runName") && has(after, "attempt")),
      "a Run is ordered only of a step that is recorded as Running":
        !effects.includes("createRun") || after.phase === "Running",
      "only a Run that was seen can have been deleted": after.reason !== "ChildDeleted" || has(before, "startTime"),
      "a step keeps its name": before.name === after.name,
      "a seen Run is ordered again only when it was replaced":
        !(effects.includes("createRun") && has(before, "startTime")) || move.event.type === "REPLACE",
      "at most 100 names are tried": Number(after.collision ?? 0) <= 100,
      "the number of names tried never falls": Number(after.collision ?? 0) >= Number(before.collision ?? 0),
      "a step that never ran has no Run": after.phase !== "Skipped" || !has(after, "runName"),
      "an end without success has a reason":
        !ends.includes(after.phase) || after.phase === "Succeeded" || has(after, "reason"),
      "outputs are told with the end": tellsOutputs(move),
      "only a failure is passed over": !has(after, "continued") || after.phase === "Failed",
    });
  },
};

/** Whether steps, or artifacts, are other ones than those that stand there. */
function stepsDiffer(before: Status, event: { readonly type: string }): boolean {
  const fresh = (field(event, "artifacts") ?? []) as readonly { readonly name: string }[];
  const known = (before.artifacts ?? {}) as Readonly<Record<string, unknown>>;
  return differs(stepsOf(before), field(event, "steps")) || fresh.some((each) => differs(each, known[each.name]));
}

const allEndedWell = (before: Status) => stepsOf(before).every(endedWell);
const endedBadly = (before: Status) => stepsOf(before).some(isBad) && stepsOf(before).every(hasEnded);
const attemptsOf = (job: Status) => (job.attempts ?? []) as readonly { readonly number: number }[];

const isAsked = (job: Status) => ["TimedOut", "Stopped", "Terminated", "InstanceFailed"].includes(String(job.reason));

/** A failed attempt; what was cancelled from above is none. */
const mayRepeat = (before: Status) => !isAsked(before) && !stepsOf(before).some(isActive);

const isUntouched = (step: Status): boolean =>
  step.phase === "Skipped" || (!hasEnded(step) && stepsOf(step).every(isUntouched));
/** No step has left a file. */
const nothingEnded = (before: Status) => stepsOf(before).every(isUntouched);

/** A new one is ordered as long as there are names; then the job ends, a step at work first. */
const otherWorkspace = ({ before }: Move) =>
  hasNames(before) ? ["stays"] : [stepsOf(before).some(isActive) ? "Stopping" : "Failed"];

/** Steps are left, and only the lack of files keeps the next one from its turn. */
const isBetweenSteps = (before: Status) =>
  stepsOf(before).every((each) => hasEnded(each) || each.phase === "Waiting") && !stepsOf(before).every(hasEnded);

export const jobOracle: Oracle = {
  terminal: ends,
  heeds: {
    Waiting: always("READY", "CANNOT_START", "SKIP"),
    Queued: always("START", "SKIP", "REPLACE_WORKSPACE", "WORKSPACE_MISSING", "NAME_TAKEN", "WORKSPACE_REFUSED"),
    Running: {
      ...always("WORKSPACE_REFUSED", "CANCEL", "TIME_OUT"),
      RETRY: mayRepeat,
      STEPS: stepsDiffer,
      STEPS_SUCCEEDED: allEndedWell,
      OUTPUTS_FAILED: allEndedWell,
      STEP_FAILED: endedBadly,
      WORKSPACE_LOST: isBetweenSteps,
      REPLACE_WORKSPACE: nothingEnded,
      WORKSPACE_MISSING: nothingEnded,
      NAME_TAKEN: nothingEnded,
    },
    Suspended: { ...always("CANCEL", "TIME_OUT"), STEPS: stepsDiffer },
    Stopping: { STEPS: stepsDiffer, STEPS_ENDED: (before) => !stepsOf(before).some(isActive), RETRY: mayRepeat },
  },
  leadsTo: {
    READY: ["Queued"],
    CANNOT_START: ["Failed"],
    SKIP: ["Skipped"],
    START: ["Running"],
    STEPS: ({ before, event }) => {
      if (before.phase === "Stopping") return ["stays"];
      if (before.phase === "Suspended") return ["Running"];
      const waits = (field(event, "steps") as readonly Status[]).some(({ phase }) => phase === "Suspended");
      return [waits ? "Suspended" : "stays"];
    },
    STEPS_SUCCEEDED: ["Succeeded"],
    STEP_FAILED: ["Failed"],
    STEPS_ENDED: ({ before }) => [isAsked(before) ? "Cancelled" : "Failed"],
    OUTPUTS_FAILED: ["Failed"],
    WORKSPACE_LOST: ["Failed"],
    REPLACE_WORKSPACE: otherWorkspace,
    NAME_TAKEN: otherWorkspace,
    WORKSPACE_MISSING: ["stays"],
    WORKSPACE_REFUSED: ({ before }) => [stepsOf(before).some(isActive) ? "Stopping" : "Failed"],
    CANCEL: ["Stopping"],
    TIME_OUT: ["Stopping"],
    RETRY: ["Queued"],
  },
  writersOf: () => ["controller"],
  check: (move) => {
    const { before, after, effects } = move;
    const steps = stepsOf(after);
    const isEnd = ends.includes(after.phase);
    const isRepeat = move.event.type === "RETRY";
    return claims({
      ...common({ terminal: ends }, move),
      "a job begins to stop because of a step at work, or to clean up":
        after.phase !== "Stopping" || before.phase === "Stopping" || steps.some(isActive) || has(after, "stopTime"),
      "a job that must end, and may clean up, says since when":
        has(after, "stopTime") === (after.phase === "Stopping" && (isAsked(after) || after.reason === "Timeout")),
      "a workspace is ordered only as long as no step has ended":
        !effects.includes("createWorkspace") || isRepeat || !stepsOf(before).some(hasEnded),
      "an attempt begins with all steps and in a workspace of its own":
        !isRepeat || (steps.every((each) => each.phase === "Waiting") && effects.includes("createWorkspace")),
      "only another attempt raises the number, by one, and the one before is remembered":
        isRepeat === number(after.attempt) > Math.max(1, number(before.attempt)) &&
        (!isRepeat || attemptsOf(after).at(-1)?.number === number(after.attempt) - 1),
      "at most 100 names are tried": Number(after.collision ?? 0) <= 100,
      "no step outlives its job": !isEnd || steps.every(hasEnded),
      "a job succeeds only by its steps": after.phase !== "Succeeded" || (steps.length > 0 && steps.every(endedWell)),
      "a job with a bad step does not succeed":
        after.phase !== "Succeeded" || !steps.some((each) => each.phase === "Failed" && each.continued !== true),
      "steps are listed when the job is ready":
        after.phase === "Waiting" ? !has(after, "steps") : isEnd || steps.length > 0,
      "a step never disappears": steps.length >= stepsOf(before).length,
      "an artifact is never withdrawn, but by another attempt":
        isRepeat ||
        Object.keys((before.artifacts ?? {}) as object).every((name) => name in ((after.artifacts ?? {}) as object)),
      "a skipped job never began": after.phase !== "Skipped" || !has(after, "startTime"),
      "an end without success has a reason and a message":
        !isEnd || after.phase === "Succeeded" || (has(after, "reason") && has(after, "message")),
      "outputs are told with the end": tellsOutputs(move),
      "only a failure is passed over": !has(after, "continued") || after.phase === "Failed",
    });
  },
};

const records = (status: Status) => (status.appliedActions ?? []) as readonly { readonly uid: string }[];
const severity = (status: Status) => ["Stop", "Terminate"].indexOf(String(status.shutdown)) + 1;
const isKnown: Heed = (before, event) =>
  records(before).some(({ uid }) => (field(event, "uids") as readonly string[]).includes(uid));
const recording = { RECORD_ACTIONS: true, FORGET_ACTIONS: isKnown } as const;

const jobsDiffer: Heed = (before, event) => differs(before.jobs ?? {}, field(event, "jobs"));
const allJobsEnded = (before: Status) => jobsOf(before).every(hasEnded);
const places = (before: Status) => condition(before, "WorkspaceReady");

const isGoing = (status: Status) => status.phase === "Running" || status.phase === "Suspended";
const isSuspended = (status: Status) => status.suspended === true;
const specMarks = {
  SPEC_SUSPEND: (before: Status) => before.observedSpecSuspend !== true,
  SPEC_RESUME: (before: Status) => before.observedSpecSuspend === true,
} as const;
/** Where the mark does not change what happens, a repeat does nothing. */
const marks = { SUSPEND: (before: Status) => !isSuspended(before), RESUME: isSuspended } as const;

const placesChange: Readonly<Record<string, Heed>> = {
  WORKSPACE_WAITS: (before, event) =>
    places(before)?.status !== "False" || !saysSame(places(before)?.message, field(event, "message")),
  WORKSPACE_READY: (before) => places(before)?.status === "False",
};

/** What happens while jobs are at work, suspended or not. */
const going: Readonly<Record<string, Heed>> = { JOBS: jobsDiffer, TIME_OUT: true, ...placesChange };

/** At once when no job is at work. */
const endsWithJobs = ({ before }: Move) => [
  before.phase === "Stopping" || jobsOf(before).some(isActive) ? "Stopping" : "Failed",
];

export const workflowRunOracle: Oracle = {
  terminal: runEnds,
  heeds: {
    Pending: { ...always("FREEZE", "START", "INVALID", "STOP", "TERMINATE"), ...specMarks, ...marks, ...recording },
    Running: {
      ...always("STOP", "TERMINATE", "SUSPEND"),
      ...specMarks,
      ...recording,
      ...going,
      JOBS_SUCCEEDED: (before) => allJobsEnded(before) && !jobsOf(before).some(isBad),
      OUTPUTS_FAILED: (before) => allJobsEnded(before) && !jobsOf(before).some(isBad),
      JOB_FAILED: (before) => allJobsEnded(before) && jobsOf(before).some(isBad),
    },
    Suspended: { ...always("STOP", "TERMINATE", "RESUME"), ...specMarks, ...recording, ...going },
    Stopping: {
      ...specMarks,
      ...marks,
      ...recording,
      ...placesChange,
      JOBS: jobsDiffer,
      JOBS_ENDED: (before) => jobsOf(before).every(hasEnded),
      STOP: (before) => !has(before, "shutdown"),
      TERMINATE: (before) => before.shutdown !== "Terminate",
      // Jobs that clean up were not asked to end when the run was stopped.
      TIME_OUT: (before) =>
        before.reason === "Stopped" && jobsOf(before).some((job) => !hasEnded(job) && job.phase !== "Stopping"),
    },
    Succeeded: { ...recording, RETRY: true },
    Failed: { ...recording, RETRY: true },
  },
  leadsTo: {
    FREEZE: ["stays"],
    START: ({ before }) => [isSuspended(before) ? "Suspended" : "Running"],
    SUSPEND: ({ before }) => [before.phase === "Running" ? "Suspended" : before.phase],
    RESUME: ({ before }) => [before.phase === "Suspended" ? "Running" : before.phase],
    SPEC_SUSPEND: ({ before }) => [before.phase === "Running" ? "Suspended" : before.phase],
    SPEC_RESUME: ({ before }) => [before.phase === "Suspended" ? "Running" : before.phase],
    INVALID: ["Failed"],
    JOBS: ["stays"],
    JOBS_SUCCEEDED: ["Succeeded"],
    OUTPUTS_FAILED: ["Failed"],
    JOB_FAILED: ["Failed"],
    JOBS_ENDED: ["Failed"],
    TIME_OUT: endsWithJobs,
    STOP: ({ before }) => [before.phase === "Pending" ? "Failed" : "Stopping"],
    TERMINATE: endsWithJobs,
    RETRY: ["Running"],
    RECORD_ACTIONS: ["stays"],
    FORGET_ACTIONS: ["stays"],
    WORKSPACE_WAITS: ["stays"],
    WORKSPACE_READY: ["stays"],
  },
  writersOf: () => ["controller"],
  check: (move) => {
    const { before, after, event } = move;
    const jobs = jobsOf(after);
    const isEnd = runEnds.includes(after.phase);
    const counted = jobs.filter((job) => !has(job, "instances"));
    const ended = counted.filter(hasEnded).length;
    return claims({
      ...common({ terminal: runEnds }, move, ["appliedActions"], event.type === "RETRY"),
      "another attempt has nothing of the end before":
        event.type !== "RETRY" ||
        ["shutdown", "suspended", "completionTime", "reason"].every((name) => !has(after, name)),
      ...finished({ terminal: runEnds }, move, "Succeeded"),
      "no job outlives its run": !isEnd || jobs.every(hasEnded),
      "a run succeeds only by its jobs": after.phase !== "Succeeded" || (jobs.length > 0 && jobs.every(endedWell)),
      "progress counts the jobs that ended": !has(after, "jobs") || after.progress === `${ended}/${counted.length}`,
      "outputs are told with the end": tellsOutputs(move),
      "attempts count from 1": !has(after, "jobs") || number(after.attempt) >= 1,
      "a run that is stopping says why": after.phase !== "Stopping" || has(after, "reason"),
      "Suspended is the mark of a run that goes on":
        (after.phase === "Suspended") === (isSuspended(after) && isGoing(after)),
      "the condition says what the mark says":
        (condition(after, "Suspended")?.status === "True") === isSuspended(after),
      "only RESUME and the spec take the mark away":
        !isSuspended(before) || isSuspended(after) || ["RESUME", "SPEC_RESUME", "RETRY"].includes(event.type),
      "shutdown never falls within an attempt": event.type === "RETRY" || severity(after) >= severity(before),
      "a run that was asked to end says so, unless it was ending before":
        !has(after, "shutdown") || ["Stopped", "Terminated", "TimedOut"].includes(String(after.reason)),
      "who is terminated is not called stopped": (after.shutdown === "Terminate") === (after.reason === "Terminated"),
      "records come and go by their own events":
        records(before).length === records(after).length || event.type.endsWith("_ACTIONS"),
      "nobody waits for a place after the end":
        !isEnd || !JSON.stringify(after.conditions).includes("WorkspaceCapacity"),
    });
  },
};
