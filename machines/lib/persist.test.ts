import { expect, test } from "vitest";
import { restoreRun } from "../run.ts";
import { restoreStep } from "../step.ts";
import { clip } from "./text.ts";

const refused: Record<string, { status: unknown; error: string; want: string }> = {
  "a phase of a mode that is not built": {
    status: { phase: "Ready" },
    error: "UnknownPhaseError",
    want: 'status.phase "Ready" is no state of the run chart (Pending, Scheduled, Running, Succeeded, Failed, Timeout, Cancelled); a newer version wrote it',
  },
  "no phase": {
    status: {},
    error: "MalformedStatusError",
    want: "status.phase of the run chart must be a text, found undefined",
  },
  "no object": {
    status: "Running",
    error: "MalformedStatusError",
    want: 'status of the run chart must be an object, found "Running"',
  },
  "a count that is no number": {
    status: { phase: "Running", attempt: "1" },
    error: "MalformedStatusError",
    want: 'status.attempt of the run chart must be a whole number, 0 or more, found "1"',
  },
  "a time that is no time": {
    status: { phase: "Pending", nextAttemptTime: "soon" },
    error: "MalformedStatusError",
    want: 'status.nextAttemptTime of the run chart must be an RFC 3339 time, found "soon"',
  },
  "conditions without a status": {
    status: { phase: "Pending", conditions: [{ type: "Scheduled" }] },
    error: "MalformedStatusError",
    want: "status.conditions of the run chart must be a list of conditions with type, status, reason, message and lastTransitionTime",
  },
};

// A status as JSON: what the type promises is exactly what is not certain.
const restoreAny: (status: unknown) => unknown = (status) => restoreRun(status as Parameters<typeof restoreRun>[0]);

test.each(Object.entries(refused))("%s is refused", (_, { status, error, want }) => {
  expect(() => restoreAny(status)).toThrow(
    expect.objectContaining({ name: error, message: expect.stringContaining(want) }),
  );
});

test("a step without a name is refused", () => {
  const nameless: unknown = { phase: "Waiting" };
  expect(() => restoreStep(nameless as Parameters<typeof restoreStep>[0])).toThrow(
    "status.name of the step chart must be a text, found undefined",
  );
});

test("a long message keeps its beginning and says that it was cut", () => {
  expect(clip("short")).toBe("short");
  const clipped = clip("x".repeat(5000));
  expect(clipped).toHaveLength(4096);
  expect(clipped.endsWith("x…")).toBe(true);
});
