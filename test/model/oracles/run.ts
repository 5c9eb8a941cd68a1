import type { Retry } from "#api/runs.ts";
import { parseTime } from "#api/time.ts";
import {
  always,
  claims,
  common,
  condition,
  field,
  finished,
  has,
  type Move,
  number,
  type Oracle,
  type Status,
  saysSame,
} from "./oracle.ts";

const podReasons = ["PodDeleted", "PodEvicted", "NodeLost", "RuntimeDeleted"];
const terminal = ["Succeeded", "Failed", "Timeout", "Cancelled"];

/** "Writers" of the Run, by what a status write does to it. */
function writersOf({ before, event, after }: Move): readonly string[] {
  if (before.phase === "Pending") {
    return after.phase === "Failed" && after.reason === "RuntimeDeleted" ? ["controller"] : ["scheduler"];
  }
  const reason = "reason" in event ? String(event.reason) : String(after.reason);
  if (podReasons.includes(reason)) return ["controller"];
  return after.reason === "TakenBack" ? ["scheduler"] : ["agent"];
}

/** "Failure reasons, retryable unless marked": those that are marked. */
const final = [
  "ArtifactInputFailed",
  "OutputsInvalid",
  "OutputsTooLarge",
  "ArtifactInvalid",
  "SecretNotAvailable",
  "WorkspaceLost",
  "InvalidResources",
  "Cancelled",
  "RuntimeDeleted",
];

/** Where a failed attempt leads, by the policy that the event carries. */
function afterFailure({ before, event }: Move): readonly string[] {
  const reason = String(field(event, "reason"));
  const retry = field(event, "retry") as Retry;
  if (before.phase !== "Running") return ["Pending"];
  const listed = retry.reasons.length === 0 || retry.reasons.some((each) => each === reason);
  if (listed && !final.includes(reason) && number(before.attempt) < retry.maxAttempts) return ["Pending"];
  return [reason === "Timeout" ? "Timeout" : "Failed"];
}

/** When the back-off is over, milliseconds since the epoch. */
const dueTime = ({ nextAttemptTime }: Status) =>
  typeof nextAttemptTime === "string" ? (parseTime(nextAttemptTime) ?? 0) : 0;

export const runOracle: Oracle = {
  terminal,
  heeds: {
    Pending: {
      ...always("CANCEL", "INVALID"),
      WAIT: (before, event) =>
        before.reason !== field(event, "reason") || !saysSame(before.message, field(event, "message")),
      ASSIGN: (before, event) => number(field(event, "now")) >= dueTime(before),
      RUNTIME_DELETED: (before) => number(before.assignmentEpoch) > 0,
    },
    Scheduled: always("CLAIM", "TAKE_BACK", "HAND_BACK", "POD_LOST", "CANCEL"),
    Running: always("SUCCEED", "FAIL", "POD_LOST", "CANCEL"),
  },
  leadsTo: {
    WAIT: ["Pending"],
    ASSIGN: ["Scheduled"],
    TAKE_BACK: ["Pending"],
    HAND_BACK: ["Pending"],
    CLAIM: ["Running"],
    SUCCEED: ["Succeeded"],
    FAIL: afterFailure,
    POD_LOST: afterFailure,
    CANCEL: ["Cancelled"],
    INVALID: ["Failed"],
    RUNTIME_DELETED: ["Failed"],
  },
  writersOf,
  check: (move) => {
    const { before, after } = move;
    const placed = after.phase === "Scheduled" || after.phase === "Running";
    const claimed = before.phase === "Scheduled" && after.phase === "Running";
    const assigned = before.phase === "Pending" && after.phase === "Scheduled";
    const retried = before.phase === "Running" && after.phase === "Pending";
    const waits = condition(after, "Scheduled");
    const attempts = (after.attempts ?? []) as readonly { number: number; reason?: string }[];
    return claims({
      ...common({ terminal }, move),
      ...finished({ terminal }, move, "Succeeded"),
      "a placed Run has its Pod and its UID": !placed || (has(after, "assignedPod") && has(after, "assignedPodUID")),
      "a Pending Run has no Pod": after.phase !== "Pending" || (!has(after, "assignedPod") && !has(after, "startTime")),
      "an attempt is spent exactly by a claim": number(after.attempt) === number(before.attempt) + (claimed ? 1 : 0),
      "the epoch rises exactly with an assignment":
        number(after.assignmentEpoch) === number(before.assignmentEpoch) + (assigned ? 1 : 0),
      "a Running Run has a start and an attempt":
        after.phase !== "Running" || (has(after, "startTime") && number(after.attempt) > 0),
      "a Run on the hot path carries no condition": !placed || !has(after, "conditions"),
      "the assigning write removes every word about waiting":
        !assigned || (!has(after, "reason") && !has(after, "message") && !has(after, "nextAttemptTime")),
      "Scheduled=False stands only while Pending": waits === undefined || after.phase === "Pending",
      "Scheduled=False has the reason of the status": waits === undefined || waits.reason === after.reason,
      "a retried failure is in the history": !retried || attempts.at(-1)?.number === before.attempt,
      "a retry states when": !retried || has(after, "nextAttemptTime"),
      "the history is bounded": attempts.length <= 10,
      "a success has exit code 0": after.phase !== "Succeeded" || after.exitCode === 0,
      "only a timeout ends as Timeout": (after.phase === "Timeout") === (after.reason === "Timeout"),
      "artifacts only of a success": after.phase === "Succeeded" || !has(after, "artifactRefs"),
      "outputs are those of the last attempt, and are told with its end":
        !has(after, "outputs") ||
        (terminal.includes(after.phase) &&
          JSON.stringify(after.outputs) === JSON.stringify(field(move.event, "outputs"))),
      "an end of a claimed attempt has a duration":
        !terminal.includes(after.phase) || has(after, "duration") === has(after, "startTime"),
    });
  },
};
