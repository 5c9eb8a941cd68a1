import fc from "fast-check";
import { defineTarget, type Target } from "./target.ts";

const fixture = (name: string, check: (input: number) => string, patienceMs?: number): Target =>
  defineTarget({
    name,
    holds: "nothing happens",
    outcomes: ["done"],
    inputs: fc.nat({ max: 1000 }),
    check,
    ...(patienceMs !== undefined && { patienceMs }),
  });

/** What can happen to an input, for the tests of the harness itself. */
export const targets: readonly Target[] = [
  fixture("sound", () => "done"),
  fixture("wrong", (input) => {
    if (input > 100) throw new Error("too many");
    return "done";
  }),
  fixture("endless", (input) => {
    while (input > 500);
    return "done";
  }),
  fixture("hungry", (input) => {
    const hoard: number[][] = [];
    while (input > 500) hoard.push(Array.from({ length: 10_000 }, () => Math.random()));
    return "done";
  }),
  fixture(
    "slow",
    (input) => {
      const begun = process.threadCpuUsage().user;
      while (input > 900 && process.threadCpuUsage().user - begun < 60_000);
      return "done";
    },
    50,
  ),
];
