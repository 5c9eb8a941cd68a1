import { stableJson } from "#api/json.ts";
import {
  always,
  claims,
  common,
  field,
  has,
  type Move,
  number,
  type Oracle,
  type Status,
  tellsOutputs,
} from "./oracle.ts";

const ends = ["Succeeded", "Failed", "Cancelled", "Skipped"];
const hasEnded = (member: Status) => ends.includes(member.phase);
const stepsOf = (step: Status) => (step.steps ?? []) as readonly Status[];
const isActive = (member: Status) => member.phase === "Running" || member.phase === "Stopping";
const isBad = (member: Status) =>
  (member.phase === "Failed" && member.continued !== true) || member.phase === "Cancelled";

/** Claims about any group: a job with a matrix, a job that is a Workflow, a step that is an Action. */
const group = (move: Move): Record<string, boolean> => {
  const { after } = move;
  return {
    ...common({ terminal: ends }, move),
    "only a failure is passed over": !has(after, "continued") || after.phase === "Failed",
    "outputs are told with the end": tellsOutputs(move),
    "a skipped one never began": after.phase !== "Skipped" || !has(after, "startTime"),
    "an end without success has a reason and a message":
      !hasEnded(after) || after.phase === "Succeeded" || (has(after, "reason") && has(after, "message")),
  };
};

export const jobMatrixOracle: Oracle = {
  terminal: ends,
  heeds: {
    Waiting: always("EXPAND", "CANNOT_START", "SKIP"),
    Running: always("INSTANCES_SUCCEEDED", "INSTANCE_FAILED", "INSTANCES_CANCELLED"),
  },
  leadsTo: {
    EXPAND: ["Running"],
    CANNOT_START: ["Failed"],
    SKIP: ["Skipped"],
    INSTANCES_SUCCEEDED: ["Succeeded"],
    INSTANCE_FAILED: ["Failed"],
    INSTANCES_CANCELLED: ["Cancelled"],
  },
  writersOf: () => ["controller"],
  check: (move) =>
    claims({
      ...group(move),
      "a job with a matrix runs as soon as its instances are known":
        move.after.phase !== "Running" || number(move.after.instances) > 0,
    }),
};

const isSeen = (before: Status) => has(before, "startTime");
const hasNames = (status: Status) => number(status.collision) < 100;

export const jobWorkflowOracle: Oracle = {
  terminal: ends,
  heeds: {
    Waiting: always("READY", "CANNOT_START", "SKIP"),
    Queued: always("START", "SKIP"),
    Running: {
      ...always("CHILD_SUCCEEDED", "CHILD_FAILED", "CHILD_MISSING", "NAME_TAKEN", "CHILD_REFUSED", "RETRY", "CANCEL"),
      CHILD_SEEN: (before) => !isSeen(before),
    },
    Stopping: always("CHILD_ENDED", "CHILD_MISSING"),
  },
  leadsTo: {
    READY: ["Queued"],
    CANNOT_START: ["Failed"],
    SKIP: ["Skipped"],
    START: ["Running"],
    CHILD_SEEN: ["stays"],
    CHILD_SUCCEEDED: ["Succeeded"],
    CHILD_FAILED: ["Failed"],
    CHILD_ENDED: ["Cancelled"],
    CHILD_MISSING: ({ before }) =>
      before.phase === "Stopping" ? ["Cancelled"] : [isSeen(before) ? "Failed" : "Running"],
    NAME_TAKEN: ({ before }) => (!isSeen(before) && hasNames(before) ? ["stays"] : ["Failed"]),
    CHILD_REFUSED: ["Failed"],
    RETRY: ["Queued"],
    CANCEL: ["Stopping"],
  },
  writersOf: () => ["controller"],
  check: (move) => {
    const { before, after, effects, event } = move;
    return claims({
      ...group(move),
      "a job at work names its child": !isActive(after) || has(after, "workflowRunName"),
      "a child is ordered only of a job that is recorded as Running":
        !effects.includes("createWorkflowRun") || after.phase === "Running",
      "what was seen is never ordered again": !(effects.includes("createWorkflowRun") && isSeen(before)),
      "only another attempt raises the number, by one":
        (event.type === "RETRY") === number(after.attempt) > Math.max(1, number(before.attempt)),
      "at most 100 names are tried": number(after.collision) <= 100,
    });
  },
};

const allEnded = (before: Status) => stepsOf(before).every(hasEnded);

export const stepActionOracle: Oracle = {
  terminal: ends,
  heeds: {
    Waiting: always("START", "CANNOT_START", "SKIP"),
    Running: {
      ...always("TIME_OUT", "CANCEL"),
      STEPS: (before, event) => stableJson(stepsOf(before)) !== stableJson(field(event, "steps")),
      STEPS_SUCCEEDED: (before) => allEnded(before) && !stepsOf(before).some(isBad),
      OUTPUTS_FAILED: (before) => allEnded(before) && !stepsOf(before).some(isBad),
      STEP_FAILED: (before) => allEnded(before) && stepsOf(before).some(isBad),
      WORKSPACE_LOST: (before) => !stepsOf(before).some(isActive) && !allEnded(before),
    },
    Stopping: {
      STEPS: (before, event) => stableJson(stepsOf(before)) !== stableJson(field(event, "steps")),
      STEPS_ENDED: (before) => !stepsOf(before).some(isActive),
    },
  },
  leadsTo: {
    START: ["Running"],
    CANNOT_START: ["Failed"],
    SKIP: ["Skipped"],
    STEPS: ["stays"],
    STEPS_SUCCEEDED: ["Succeeded"],
    STEP_FAILED: ["Failed"],
    OUTPUTS_FAILED: ["Failed"],
    WORKSPACE_LOST: ["Failed"],
    TIME_OUT: ({ before }) => [stepsOf(before).some(isActive) ? "Stopping" : "Failed"],
    STEPS_ENDED: ({ before }) => [before.reason === "Timeout" ? "Failed" : "Cancelled"],
    CANCEL: ["Stopping"],
  },
  writersOf: () => ["controller"],
  check: (move) => {
    const { before, after } = move;
    return claims({
      ...group(move),
      "a step keeps its name": before.name === after.name,
      "no step of the Action outlives it": !hasEnded(after) || stepsOf(after).every(hasEnded),
      "it succeeds only by its steps": after.phase !== "Succeeded" || !stepsOf(after).some(isBad),
      "a step never disappears": stepsOf(after).length >= stepsOf(before).length,
    });
  },
};
