import { always, claims, field, has, type Move, type Oracle, type Status } from "./oracle.ts";

/** States in which a process of the attempt may be at work. */
const atWork = ["Starting", "Executing"];

/** What is under way in a state; it is ordered on the way into it, and nowhere else. */
const work: Readonly<Record<string, string>> = {
  Claiming: "claim",
  Preparing: "prepare",
  Staging: "stage",
  Starting: "start",
  Collecting: "collect",
  Uploading: "upload",
  Killing: "kill",
  Salvaging: "collect",
  Reporting: "report",
};

const resumed: Readonly<Record<string, string>> = { Known: "Executing", NeverStarted: "Preparing", Lost: "Killing" };
const beforeClaim = ["Assigned", "Claiming"];

/** A fence ends what has nothing under way that could go on without us; everything else is killed first. */
const fenced = ({ before }: Move) => [
  [...beforeClaim, "Salvaging", "Reporting"].includes(before.phase) ? "Done" : "Killing",
];

/** Ended from outside in the middle of its work: it may have written something that somebody needs. */
const cutShort = (before: Status) =>
  ["Cancelled", "Timeout"].some((word) => JSON.stringify(before.outcome)?.includes(`"${word}"`));

const part = (attempt: Status, name: string) =>
  (attempt.outcome as Readonly<Record<string, unknown>> | undefined)?.[name];

/** While something is under way that can be ended. */
const interruptible = ["CANCEL", "FENCED"];
const limited = [...interruptible, "TIMEOUT", "FAILED"];

export const attemptOracle: Oracle = {
  terminal: ["Done"],
  heeds: {
    Assigned: always("ADMIT", "REFUSE", "RESUME", ...interruptible),
    // Whatever else is asked of the Run waits for the answer to the claim.
    Claiming: always("CLAIMED", "FENCED"),
    Preparing: always("PREPARED", ...limited),
    Staging: always("STAGED", ...limited),
    Starting: always("STARTED", ...limited),
    Executing: always("EXIT", ...limited),
    Collecting: always("COLLECTED", "FAILED", ...interruptible),
    Uploading: always("UPLOADED", "FAILED", ...interruptible),
    Killing: { GONE: true, FENCED: (before) => has(before, "outcome") },
    // What is read comes from a disk, and nothing of the attempt is at work: there is nothing to end.
    Salvaging: always("COLLECTED", "FAILED", "FENCED"),
    Reporting: always("REPORTED", "FENCED"),
  },
  leadsTo: {
    ADMIT: ["Claiming"],
    REFUSE: ["Reporting"],
    RESUME: ({ event }) => [resumed[String(field(event, "execution"))] ?? ""],
    CLAIMED: ["Preparing"],
    PREPARED: ["Staging"],
    STAGED: ["Starting"],
    STARTED: ["Executing"],
    EXIT: ({ event }) => [field(event, "exitCode") === 0 ? "Collecting" : "Salvaging"],
    COLLECTED: ({ before, event }) => [
      field(event, "artifacts") === 0 || before.phase === "Salvaging" ? "Reporting" : "Uploading",
    ],
    UPLOADED: ["Reporting"],
    FAILED: ({ before }) => [atWork.includes(before.phase) ? "Killing" : "Reporting"],
    TIMEOUT: ["Killing"],
    CANCEL: ({ before }) => [before.phase === "Assigned" ? "Reporting" : "Killing"],
    FENCED: fenced,
    GONE: ({ before }) => [cutShort(before) ? "Salvaging" : has(before, "outcome") ? "Reporting" : "Done"],
    REPORTED: ["Done"],
  },
  writersOf: () => ["agent"],
  check: ({ before, after, event, effects }) => {
    const reports = effects.includes("report");
    return claims({
      "nothing leaves Done": before.phase !== "Done" || JSON.stringify(before) === JSON.stringify(after),
      "the work of a state is ordered on the way into it":
        before.phase === after.phase ||
        String(effects.filter((effect) => effect !== "cleanup" && effect !== "forget")) === (work[after.phase] ?? ""),
      "a state that is kept orders nothing": before.phase !== after.phase || effects.length === 0,
      "nothing is prepared before the claim is stored":
        !effects.includes("prepare") || event.type === "CLAIMED" || event.type === "RESUME",
      "the program is started only from Staging": !effects.includes("start") || before.phase === "Staging",
      "it is claimed once": !effects.includes("claim") || before.phase === "Assigned",
      "only an exit or a completed kill leads from a process to a report":
        (!reports && after.phase !== "Salvaging") || !atWork.includes(before.phase) || event.type === "EXIT",
      "what becomes of outputs changes no end":
        before.phase !== "Salvaging" ||
        !reports ||
        ["kind", "reason", "exitCode"].every((name) => part(after, name) === part(before, name)),
      "a report has an outcome": !reports || has(after, "outcome"),
      "what is cancelled or out of time is killed before it is reported":
        !(event.type === "CANCEL" || event.type === "TIMEOUT") ||
        before.phase === after.phase ||
        before.phase === "Assigned" ||
        (after.phase === "Killing" && effects.includes("kill")),
      "a fenced attempt reports nothing":
        event.type !== "FENCED" || (!reports && (after.phase !== "Killing" || !has(after, "outcome"))),
      "the executor forgets only after the report, or when there is none":
        !effects.includes("forget") ||
        before.phase === "Reporting" ||
        event.type === "FENCED" ||
        !has(before, "outcome"),
      "a success was uploaded or had nothing to upload":
        !JSON.stringify(after.outcome ?? {}).includes('"Succeeded"') ||
        ["Collecting", "Uploading", "Reporting"].includes(before.phase),
    });
  },
};
