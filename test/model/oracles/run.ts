import { claims, common, condition, finished, has, type Move, number, type Oracle } from "./oracle.ts";

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

export const runOracle: Oracle = {
  terminal,
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
      "outputs and artifacts only of a success":
        after.phase === "Succeeded" || (!has(after, "outputs") && !has(after, "artifactRefs")),
      "an end of a claimed attempt has a duration":
        !terminal.includes(after.phase) || has(after, "duration") === has(after, "startTime"),
    });
  },
};
