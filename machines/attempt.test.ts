import { expect, test } from "vitest";
import type { RunStatus } from "#api/kinds/run.ts";
import { type AttemptEvent, attemptMachine, newAttempt, resumption } from "./attempt.ts";
import { type AttemptOutcome, outcomeEvent } from "./attempt-outcome.ts";
import { step } from "./lib/settle.ts";

/** How an attempt is said to have ended, and what it wrote before an end that is no success. */
function told(outcome: AttemptOutcome): string {
  if (outcome.kind === "Succeeded" || outcome.kind === "HandedBack") return outcome.kind;
  const { kind, message, outputs } = outcome;
  return `${kind} ${message}${outputs === undefined ? "" : ` ${JSON.stringify(outputs)}`}`;
}

/** States and effects on the way through these events. */
function way(...events: AttemptEvent[]): string[] {
  let snapshot = newAttempt();
  const trace: string[] = [];
  for (const event of events) {
    const moved = step(attemptMachine, snapshot, event);
    snapshot = moved.snapshot;
    const effects = moved.effects.map((effect) =>
      effect.type === "report" ? `report ${told(effect.outcome)}` : effect.type,
    );
    trace.push([snapshot.value, ...effects].join(" "));
  }
  return trace;
}

const atWork = ["Claiming claim", "Preparing prepare", "Staging stage", "Starting start"];
const begun: AttemptEvent[] = [{ type: "ADMIT" }, { type: "CLAIMED" }, { type: "PREPARED" }, { type: "STAGED" }];

test("an attempt goes its way, and the executor forgets after the report", () => {
  const events: AttemptEvent[] = [
    ...begun,
    { type: "STARTED" },
    { type: "EXIT", exitCode: 0 },
    { type: "COLLECTED", outputs: {}, artifacts: 1 },
    { type: "UPLOADED", artifactRefs: [] },
    { type: "REPORTED" },
  ];
  expect(way(...events)).toEqual([
    "Claiming claim",
    "Preparing prepare",
    "Staging stage",
    "Starting start",
    "Executing",
    "Collecting collect",
    "Uploading upload",
    "Reporting report Succeeded",
    "Done cleanup forget",
  ]);
});

const ways: Record<string, { events: AttemptEvent[]; want: string[] }> = {
  "a Pod that is full hands the Run back without claiming it": {
    events: [{ type: "REFUSE", message: "full" }, { type: "REPORTED" }],
    want: ["Reporting report HandedBack", "Done cleanup forget"],
  },
  "a lost race ends without a trace": {
    events: [{ type: "ADMIT" }, { type: "FENCED" }],
    want: ["Claiming claim", "Done"],
  },
  "a claim under way is not disturbed by a cancellation": {
    events: [
      { type: "ADMIT" },
      { type: "CANCEL", message: "m" },
      { type: "CLAIMED" },
      { type: "CANCEL", message: "m" },
    ],
    want: ["Claiming claim", "Claiming", "Preparing prepare", "Killing kill"],
  },
  "a cancelled program is gone before that is reported, and what it wrote is read": {
    events: [
      ...begun,
      { type: "STARTED" },
      { type: "CANCEL", message: "m" },
      { type: "GONE" },
      { type: "COLLECTED", outputs: { a: "b" }, artifacts: 0 },
    ],
    want: [...atWork, "Executing", "Killing kill", "Salvaging collect", 'Reporting report Cancelled m {"a":"b"}'],
  },
  "a program out of time is gone before that is reported, and what it wrote is read": {
    events: [
      ...begun,
      { type: "TIMEOUT", message: "m" },
      { type: "GONE" },
      { type: "COLLECTED", outputs: { a: "b" }, artifacts: 1 },
    ],
    want: [...atWork, "Killing kill", "Salvaging collect", 'Reporting report Failed m {"a":"b"}'],
  },
  "of a program that failed the outputs are read, and the artifacts left": {
    events: [
      ...begun,
      { type: "STARTED" },
      { type: "EXIT", exitCode: 3 },
      { type: "TIMEOUT", message: "m" },
      { type: "CANCEL", message: "m" },
      { type: "COLLECTED", outputs: { a: "b" }, artifacts: 1 },
    ],
    want: [
      ...atWork,
      "Executing",
      "Salvaging collect",
      "Salvaging",
      "Salvaging",
      'Reporting report Failed exit code 3 {"a":"b"}',
    ],
  },
  "outputs that nobody can read are no reason of their own after a failure": {
    events: [
      ...begun,
      { type: "STARTED" },
      { type: "EXIT", exitCode: 3 },
      { type: "FAILED", reason: "OutputsInvalid", message: "outputs line 1: no" },
    ],
    want: [
      ...atWork,
      "Executing",
      "Salvaging collect",
      "Reporting report Failed exit code 3; its outputs are not recorded: outputs line 1: no",
    ],
  },
  "artifacts that cannot be stored do not take the outputs away": {
    events: [
      ...begun,
      { type: "STARTED" },
      { type: "EXIT", exitCode: 0 },
      { type: "COLLECTED", outputs: { a: "b" }, artifacts: 1 },
      { type: "FAILED", reason: "ArtifactInvalid", message: "too large" },
    ],
    want: [
      ...atWork,
      "Executing",
      "Collecting collect",
      "Uploading upload",
      'Reporting report Failed too large {"a":"b"}',
    ],
  },
  "nothing is told of a Run that is not ours any more while its outputs are read": {
    events: [...begun, { type: "STARTED" }, { type: "EXIT", exitCode: 3 }, { type: "FENCED" }],
    want: [...atWork, "Executing", "Salvaging collect", "Done cleanup forget"],
  },
  "a start that failed is cleared up before it is reported": {
    events: [...begun, { type: "FAILED", reason: "StartFailed", message: "no such file" }, { type: "GONE" }],
    want: [
      "Claiming claim",
      "Preparing prepare",
      "Staging stage",
      "Starting start",
      "Killing kill",
      "Reporting report Failed no such file",
    ],
  },
  "a fenced attempt is killed and never reported": {
    events: [...begun, { type: "FENCED" }, { type: "GONE" }],
    want: [
      "Claiming claim",
      "Preparing prepare",
      "Staging stage",
      "Starting start",
      "Killing kill",
      "Done cleanup forget",
    ],
  },
  "a fence during the kill takes the report away": {
    events: [...begun, { type: "TIMEOUT", message: "m" }, { type: "FENCED" }, { type: "GONE" }],
    want: [
      "Claiming claim",
      "Preparing prepare",
      "Staging stage",
      "Starting start",
      "Killing kill",
      "Killing",
      "Done cleanup forget",
    ],
  },
  "an upload is not cut off by the time limit of the program": {
    events: [...begun, { type: "STARTED" }, { type: "EXIT", exitCode: 0 }, { type: "TIMEOUT", message: "m" }],
    want: [
      "Claiming claim",
      "Preparing prepare",
      "Staging stage",
      "Starting start",
      "Executing",
      "Collecting collect",
      "Collecting",
    ],
  },
};

test.each(Object.entries(ways))("%s", (_, { events, want }) => {
  expect(way(...events)).toEqual(want);
});

const claimed: RunStatus = { phase: "Running", attempt: 1, startTime: "2026-07-06T12:00:00.000000Z" };
const claimTime = Date.parse("2026-07-06T12:00:00Z");

const resumptions: Record<string, { run: RunStatus; listed: boolean; boot: number; want: string | undefined }> = {
  "a Run that is only Scheduled begins as any other": {
    run: { phase: "Scheduled" },
    listed: false,
    boot: 0,
    want: undefined,
  },
  "an attempt that the executor knows goes on": { run: claimed, listed: true, boot: claimTime - 1, want: "Known" },
  "an attempt that an older executor does not know was never started": {
    run: claimed,
    listed: false,
    boot: claimTime - 1,
    want: "NeverStarted",
  },
  "an attempt that a younger executor does not know is lost": {
    run: claimed,
    listed: false,
    boot: claimTime + 1,
    want: "Lost",
  },
  "an attempt without a start cannot be started again": {
    run: { phase: "Running", attempt: 1 },
    listed: false,
    boot: 0,
    want: "Lost",
  },
};

test.each(Object.entries(resumptions))("%s", (_, { run, listed, boot, want }) => {
  expect(resumption(run, listed, boot)).toEqual(want && { type: "RESUME", execution: want });
});

const retry = { maxAttempts: 1, backoffMs: 1000, reasons: [] };
const outcomes: Record<string, { outcome: AttemptOutcome; want: object }> = {
  "a success becomes SUCCEED": {
    outcome: { kind: "Succeeded", exitCode: 0, outputs: { a: "b" }, artifactRefs: [] },
    want: { type: "SUCCEED", exitCode: 0, outputs: { a: "b" }, artifactRefs: [], now: 7 },
  },
  "a failure becomes FAIL with the policy": {
    outcome: { kind: "Failed", reason: "ExitNonZero", message: "exit code 3", exitCode: 3, outputs: { a: "b" } },
    want: {
      type: "FAIL",
      reason: "ExitNonZero",
      message: "exit code 3",
      exitCode: 3,
      outputs: { a: "b" },
      retry,
      now: 7,
    },
  },
  "a cancellation becomes CANCEL": {
    outcome: { kind: "Cancelled", message: "m" },
    want: { type: "CANCEL", message: "m", now: 7 },
  },
  "a Run handed back becomes HAND_BACK": {
    outcome: { kind: "HandedBack", message: "m" },
    want: { type: "HAND_BACK", message: "m", now: 7 },
  },
};

test.each(Object.entries(outcomes))("%s", (_, { outcome, want }) => {
  expect(outcomeEvent(outcome, retry, 7)).toEqual(want);
});

test("an exit that failed tells its code, what the executor adds, and what the program wrote", () => {
  const executing = attemptMachine.resolveState({ value: "Executing", context: {} });
  const exited = step(attemptMachine, executing, { type: "EXIT", exitCode: 137, message: "killed by SIGKILL" });
  const outputs = { tests: "3" };
  const { effects } = step(attemptMachine, exited.snapshot, { type: "COLLECTED", outputs, artifacts: 0 });
  const message = "exit code 137: killed by SIGKILL";
  expect(effects).toEqual([
    { type: "report", outcome: { kind: "Failed", reason: "ExitNonZero", message, exitCode: 137, outputs } },
  ]);
});
