import { expect, test } from "vitest";
import type { RunStatus } from "#api/kinds/run.ts";
import { aRun } from "../testing/objects.ts";
import { adviceFor, endOf, exitCodeOf } from "./run-end.ts";

const cases: Record<string, [status: RunStatus, code: number, end: string]> = {
  "a success": [{ phase: "Succeeded", exitCode: 0, message: "x" }, 0, "ended as Succeeded"],
  "a program that failed": [
    { phase: "Failed", reason: "ExitNonZero", exitCode: 7, message: "exit code 7\nmore" },
    7,
    "ended as Failed: ExitNonZero: exit code 7",
  ],
  "a failure before the program": [{ phase: "Failed", reason: "SourceFailed" }, 125, "ended as Failed: SourceFailed"],
  "a failure after a program that went well": [
    { phase: "Failed", reason: "OutputsInvalid", exitCode: 0 },
    125,
    "ended as Failed: OutputsInvalid",
  ],
  "a time limit": [{ phase: "Timeout", reason: "Timeout" }, 124, "ended as Timeout: Timeout"],
  "a cancelled one": [{ phase: "Cancelled", reason: "Cancelled" }, 130, "ended as Cancelled: Cancelled"],
};

test.each(Object.entries(cases))("%s", (_, [status, code, end]) => {
  expect(exitCodeOf(aRun("x", status))).toBe(code);
  expect(endOf(aRun("x", status))).toBe(end);
});

test("advice is for reasons of the registry only", () => {
  expect(adviceFor("NoReadyPods")).toMatch(/^Look at /);
  expect(adviceFor("toString")).toBeUndefined();
  expect(adviceFor(undefined)).toBeUndefined();
});
