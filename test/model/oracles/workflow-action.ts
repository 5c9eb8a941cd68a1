import { always, claims, common, field, finished, has, type Oracle } from "./oracle.ts";

const terminal = ["Succeeded", "Failed"];

export const workflowActionOracle: Oracle = {
  terminal,
  heeds: { Pending: always("APPLY", "REFUSE") },
  leadsTo: { APPLY: ["Succeeded"], REFUSE: ["Failed"] },
  writersOf: () => ["controller"],
  check: (move) =>
    claims({
      ...common({ terminal }, move),
      ...finished({ terminal }, move, "Succeeded"),
      "an answer says why": has(move.after, "reason") && has(move.after, "message"),
      "a refusal has its own reason": move.event.type !== "REFUSE" || move.after.reason === field(move.event, "reason"),
    }),
};
