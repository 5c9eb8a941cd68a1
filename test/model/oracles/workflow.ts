import { claims, common, finished, has, type Oracle, type Status } from "./oracle.ts";

const ends = ["Succeeded", "Failed", "Cancelled", "Skipped"];
const runEnds = ["Succeeded", "Failed"];
const hasEnded = (member: Status) => ends.includes(member.phase);
const endedWell = (member: Status) => member.phase === "Succeeded" || member.phase === "Skipped";

const stepsOf = (job: Status) => (job.steps ?? []) as readonly Status[];
const jobsOf = (run: Status) => Object.values((run.jobs ?? {}) as Readonly<Record<string, Status>>);

const isActive = (member: Status) => member.phase === "Running" || member.phase === "Stopping";

export const stepOracle: Oracle = {
  terminal: ends,
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
    NAME_TAKEN: ["stays", "Failed"],
    RUN_REFUSED: ["Failed"],
    REPLACE: ["stays", "Failed"],
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
      "outputs only of a success": after.phase === "Succeeded" || !has(after, "outputs"),
    });
  },
};

export const jobOracle: Oracle = {
  terminal: ends,
  leadsTo: {
    READY: ["Queued"],
    CANNOT_START: ["Failed"],
    SKIP: ["Skipped"],
    START: ["Running"],
    STEPS: ["stays"],
    STEPS_SUCCEEDED: ["Succeeded"],
    STEP_FAILED: ["Failed"],
    STEPS_ENDED: ({ before }) => [before.reason === "TimedOut" ? "Cancelled" : "Failed"],
    OUTPUTS_FAILED: ["Failed"],
    WORKSPACE_LOST: ["Failed"],
    // A new one is ordered, or the job ends; a step at work ends first.
    REPLACE_WORKSPACE: ({ effects }) => (effects.includes("createWorkspace") ? ["stays"] : ["Stopping", "Failed"]),
    NAME_TAKEN: ({ effects }) => (effects.includes("createWorkspace") ? ["stays"] : ["Stopping", "Failed"]),
    WORKSPACE_MISSING: ["stays"],
    WORKSPACE_REFUSED: ["Stopping", "Failed"],
    CANCEL: ["Stopping", "Cancelled"],
  },
  writersOf: () => ["controller"],
  check: (move) => {
    const { before, after, effects } = move;
    const steps = stepsOf(after);
    const isEnd = ends.includes(after.phase);
    return claims({
      ...common({ terminal: ends }, move),
      "a job begins to stop only because of a step at work":
        after.phase !== "Stopping" || before.phase === "Stopping" || steps.some(isActive),
      "a workspace is ordered only as long as no step has ended":
        !effects.includes("createWorkspace") || !stepsOf(before).some(hasEnded),
      "at most 100 names are tried": Number(after.collision ?? 0) <= 100,
      "no step outlives its job": !isEnd || steps.every(hasEnded),
      "a job succeeds only by its steps": after.phase !== "Succeeded" || (steps.length > 0 && steps.every(endedWell)),
      "a job with a bad step does not succeed":
        after.phase !== "Succeeded" || !steps.some((each) => each.phase === "Failed"),
      "steps are listed when the job is ready":
        after.phase === "Waiting" ? !has(after, "steps") : isEnd || steps.length > 0,
      "a step never disappears": steps.length >= stepsOf(before).length,
      "an artifact is never withdrawn": Object.keys((before.artifacts ?? {}) as object).every(
        (name) => name in ((after.artifacts ?? {}) as object),
      ),
      "a skipped job never began": after.phase !== "Skipped" || !has(after, "startTime"),
      "an end without success has a reason and a message":
        !isEnd || after.phase === "Succeeded" || (has(after, "reason") && has(after, "message")),
      "outputs only of a success": after.phase === "Succeeded" || !has(after, "outputs"),
    });
  },
};

export const workflowRunOracle: Oracle = {
  terminal: runEnds,
  leadsTo: {
    FREEZE: ["stays"],
    START: ["Running"],
    INVALID: ["Failed"],
    JOBS: ["stays"],
    JOBS_SUCCEEDED: ["Succeeded"],
    JOB_FAILED: ["Failed"],
    JOBS_ENDED: ["Failed"],
    TIME_OUT: ({ before }) => [jobsOf(before).some(isActive) ? "Stopping" : "Failed"],
    WORKSPACE_WAITS: ["stays"],
    WORKSPACE_READY: ["stays"],
  },
  writersOf: () => ["controller"],
  check: (move) => {
    const { after } = move;
    const jobs = jobsOf(after);
    const isEnd = runEnds.includes(after.phase);
    const ended = jobs.filter(hasEnded).length;
    return claims({
      ...common({ terminal: runEnds }, move),
      ...finished({ terminal: runEnds }, move, "Succeeded"),
      "no job outlives its run": !isEnd || jobs.every(hasEnded),
      "a run succeeds only by its jobs": after.phase !== "Succeeded" || (jobs.length > 0 && jobs.every(endedWell)),
      "progress counts the jobs that ended": !has(after, "jobs") || after.progress === `${ended}/${jobs.length}`,
      "attempts count from 1": !has(after, "jobs") || after.attempt === 1,
      "a run that is stopping says why": after.phase !== "Stopping" || has(after, "reason"),
      "nobody waits for a place after the end":
        !isEnd || !JSON.stringify(after.conditions).includes("WorkspaceCapacity"),
    });
  },
};
