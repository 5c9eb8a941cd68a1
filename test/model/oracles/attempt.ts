import { claims, has, type Oracle } from "./oracle.ts";

/** States in which a process of the attempt may be at work. */
const atWork = ["Starting", "Executing"];

export const attemptOracle: Oracle = {
  terminal: ["Done"],
  writersOf: () => ["agent"],
  check: ({ before, after, event, effects }) => {
    const reports = effects.includes("report");
    return claims({
      "nothing leaves Done": before.phase !== "Done" || JSON.stringify(before) === JSON.stringify(after),
      "nothing is prepared before the claim is stored":
        !effects.includes("prepare") || event.type === "CLAIMED" || event.type === "RESUME",
      "the program is started only from Staging": !effects.includes("start") || before.phase === "Staging",
      "it is claimed once": !effects.includes("claim") || before.phase === "Assigned",
      "only an exit or a completed kill leads from a process to a report":
        !reports || !atWork.includes(before.phase) || event.type === "EXIT",
      "a report has an outcome": !reports || has(after, "outcome"),
      "what is cancelled or out of time is killed before it is reported":
        !(event.type === "CANCEL" || event.type === "TIMEOUT") ||
        before.phase === after.phase ||
        before.phase === "Assigned" ||
        (after.phase === "Killing" && effects.includes("kill")),
      "a fenced attempt reports nothing":
        event.type !== "FENCED" || (!reports && (after.phase !== "Killing" || !has(after, "outcome"))),
      "the executor forgets only after the report, or when there is none":
        !effects.includes("forget") || before.phase === "Reporting" || !has(before, "outcome"),
      "a success was uploaded or had nothing to upload":
        !JSON.stringify(after.outcome ?? {}).includes('"Succeeded"') ||
        ["Collecting", "Uploading", "Reporting"].includes(before.phase),
    });
  },
};
