import { claims, common, finished, has, type Oracle, type Status } from "./oracle.ts";

const ends = ["Succeeded", "Failed", "Cancelled", "Skipped"];
const runEnds = ["Succeeded", "Failed"];
const hasEnded = (member: Status) => ends.includes(member.phase);
const endedWell = (member: Status) => member.phase === "Succeeded" || member.phase === "Skipped";

const stepsOf = (job: Status) => (job.steps ?? []) as readonly Status[];
const jobsOf = (run: Status) => Object.values((run.jobs ?? {}) as Readonly<Record<string, Status>>);

export const stepOracle: Oracle = {
  terminal: ends,
  writersOf: () => ["controller"],
  check: (move) => {
    const { before, after, effects } = move;
    const isAtWork = after.phase === "Running" || after.phase === "Stopping";
    return claims({
      ...common({ terminal: ends }, move),
      "a step at work names its Run": !isAtWork || (has(after, "runName") && has(after, "attempt")),
      "a Run is ordered only of a step that is recorded as Running":
        !effects.includes("createRun") || after.phase === "Running",
      "a step keeps its name": before.name === after.name,
      "a seen Run is ordered again only when it was replaced":
        !(effects.includes("createRun") && has(before, "startTime")) || move.event.type === "REPLACE",
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
  writersOf: () => ["controller"],
  check: (move) => {
    const { before, after } = move;
    const steps = stepsOf(after);
    const isEnd = ends.includes(after.phase);
    return claims({
      ...common({ terminal: ends }, move),
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
