import { parseTime } from "#api/time.ts";
import {
  always,
  claims,
  common,
  condition,
  field,
  type Heed,
  has,
  number,
  type Oracle,
  type Status,
  saysSame,
} from "./oracle.ts";

const terminal = ["Lost"];
const time = (value: unknown) => (typeof value === "string" ? (parseTime(value) ?? 0) : 0);

const usage: Readonly<Record<string, Heed>> = {
  USE: (before, event) => before.activeRuns !== field(event, "activeRuns"),
  UNUSED: (before, event) =>
    number(before.activeRuns) > 0 || time(field(event, "lastUsedTime")) > time(before.lastUsedTime),
};

/** Whether a condition does not say this yet. */
function isNews(before: Status, type: string, says: { status: string; reason: unknown; message?: unknown }): boolean {
  const old = condition(before, type);
  const isSaid = old?.status === says.status && old.reason === says.reason;
  return !isSaid || (says.message !== undefined && !saysSame(old.message, says.message));
}

export const persistentWorkspaceOracle: Oracle = {
  terminal,
  heeds: {
    Pending: {
      ...always("BIND", "RELEASE"),
      WAIT: (before, event) =>
        isNews(before, "Bound", { status: "False", reason: field(event, "reason"), message: field(event, "message") }),
    },
    Bound: {
      ...always("LOSE", "RELEASE"),
      ...usage,
      POD_READY: (before) => isNews(before, "PodReady", { status: "True", reason: "PodReady" }),
      POD_NOT_READY: (before, event) =>
        isNews(before, "PodReady", { status: "False", reason: "PodNotReady", message: field(event, "message") }),
    },
    Released: {
      ...always("LOSE", "NOT_DELETED"),
      ...usage,
      FINALIZER_LEFT: (before) => !has(before, "boundPodUID"),
    },
    Lost: always("FINALIZER_LEFT"),
  },
  leadsTo: {
    WAIT: ["Pending"],
    BIND: ({ event }) => [field(event, "finalizer") === true ? "Bound" : "Pending"],
    LOSE: ["Lost"],
    RELEASE: ["Released"],
    USE: ["stays"],
    UNUSED: ["stays"],
    POD_READY: ["stays"],
    POD_NOT_READY: ["stays"],
    NOT_DELETED: ["stays"],
    FINALIZER_LEFT: ["stays"],
  },
  writersOf: () => ["controller"],
  check: (move) => {
    const { before, after, event, effects } = move;
    const { "completionTime exactly at an end": _, ...shared } = common({ terminal }, move);
    return claims({
      ...shared,
      "a bound Pod never changes": !has(before, "boundPodUID") || before.boundPodUID === after.boundPodUID,
      "nothing is bound twice": after.phase !== "Bound" || before.phase === "Bound" || before.phase === "Pending",
      "a released workspace is never bound again": before.phase !== "Released" || after.phase !== "Bound",
      "a bound workspace has Pod, UID, path and time":
        after.phase !== "Bound" || ["boundPod", "boundPodUID", "path", "boundTime"].every((field) => has(after, field)),
      "Bound is True exactly while its Pod holds the files":
        after.phase === "Released" || (condition(after, "Bound")?.status === "True") === (after.phase === "Bound"),
      "no Pod is bound before the finalizer is there":
        !(before.phase === "Pending" && after.phase === "Bound") || ("finalizer" in event && event.finalizer === true),
      "the finalizer goes only when there are no bytes":
        !effects.includes("removeFinalizer") || after.phase === "Lost" || !has(after, "boundPodUID"),
      "a workspace that its TTL releases is asked to be deleted":
        !(event.type === "RELEASE" && before.phase === "Bound" && field(event, "reason") === "TTLExpired") ||
        effects.includes("requestDeletion"),
      "deletion is requested only of a workspace that its TTL released":
        !effects.includes("requestDeletion") ||
        (after.phase === "Released" && (after.reason === "TTLExpired" || event.type === "NOT_DELETED")),
      "the time of the last use never goes back": time(after.lastUsedTime) >= time(before.lastUsedTime),
      "InUse says what activeRuns says":
        !has(after, "activeRuns") || (condition(after, "InUse")?.status === "True") === (after.activeRuns !== 0),
    });
  },
};
