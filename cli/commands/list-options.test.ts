import { expect, test } from "vitest";
import { runPhases } from "#api/run-phases.ts";
import { type RunFilters, runFieldSelector } from "./list-options.ts";

const others = (...kept: string[]) =>
  runPhases
    .filter((phase) => !kept.includes(phase))
    .map((phase) => `status.phase!=${phase}`)
    .join(",");

const cases: Record<string, [filters: RunFilters, want: string | undefined]> = {
  nothing: [{}, undefined],
  "a Runtime": [{ runtime: "bash" }, "spec.runtime=bash"],
  "a phase": [{ phase: "Failed" }, "status.phase=Failed"],
  "a phase in other letters": [{ phase: "failed" }, "status.phase=Failed"],
  "several phases are none of the others": [{ phase: "Failed, timeout" }, others("Failed", "Timeout")],
  both: [{ phase: "Running", runtime: "bash" }, "spec.runtime=bash,status.phase=Running"],
};

test.each(Object.entries(cases))("%s", (_, [filters, want]) => {
  expect(runFieldSelector(filters)).toBe(want);
});

test("a phase that does not exist", () => {
  expect(() => runFieldSelector({ phase: "Faild" })).toThrow(
    expect.objectContaining({ advice: "Did you mean Failed?" }),
  );
  expect(() => runFieldSelector({ phase: "" })).toThrow("there is no phase");
});
