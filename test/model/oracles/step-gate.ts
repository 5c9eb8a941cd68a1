import { always, claims, common, has, type Oracle } from "./oracle.ts";

const terminal = ["Succeeded", "Failed", "Cancelled", "Skipped"];

export const stepGateOracle: Oracle = {
  terminal,
  heeds: { Waiting: always("START", "CANNOT_START", "SKIP"), Suspended: always("RESUME", "FAIL", "CANCEL") },
  leadsTo: {
    START: ["Suspended"],
    CANNOT_START: ["Failed"],
    SKIP: ["Skipped"],
    RESUME: ["Succeeded"],
    FAIL: ["Failed"],
    CANCEL: ["Cancelled"],
  },
  writersOf: () => ["controller"],
  check: (move) => {
    const { before, after } = move;
    return claims({
      ...common({ terminal }, move),
      "a gate has no Run": !has(after, "runName"),
      "a gate keeps its name": before.name === after.name,
      "a gate that waits says for what": after.phase !== "Suspended" || (has(after, "reason") && has(after, "message")),
      "an end without success has a reason":
        !terminal.includes(after.phase) || after.phase === "Succeeded" || has(after, "reason"),
      "outputs only of a success": after.phase === "Succeeded" || !has(after, "outputs"),
    });
  },
};
