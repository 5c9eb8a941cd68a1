import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { RunFailureReason } from "#api/reasons.ts";
import type { Retry } from "#api/runs.ts";
import type { RunEvent } from "./run.ts";

/** How an attempt ends; the agent turns it into the Run event of the same meaning. */
export type AttemptOutcome =
  | { kind: "Succeeded"; exitCode: number; outputs: Record<string, string>; artifactRefs: ArtifactRef[] }
  | { kind: "Failed"; reason: RunFailureReason; message: string; exitCode?: number }
  | { kind: "Cancelled"; message: string }
  | { kind: "HandedBack"; message: string };

/** Reported if a report is due and nothing says what: a fault of this chart, and never a success. */
export const noOutcome: AttemptOutcome = { kind: "Failed", reason: "AttemptLost", message: "the outcome is not known" };

export const executorRestarted: AttemptOutcome = {
  kind: "Failed",
  reason: "AttemptLost",
  message: "the executor restarted and does not know the attempt any more",
};

type FailedOutcome = Extract<AttemptOutcome, { kind: "Failed" }>;

export function failure({ reason, message }: { reason: RunFailureReason; message: string }): FailedOutcome {
  return { kind: "Failed", reason, message };
}

export function exitOutcome({ exitCode, message }: { exitCode: number; message?: string }): FailedOutcome {
  const text = `exit code ${exitCode}`;
  return { ...failure({ reason: "ExitNonZero", message: message ? `${text}: ${message}` : text }), exitCode };
}

export function success(outputs: Record<string, string>, artifactRefs: ArtifactRef[]): AttemptOutcome {
  return { kind: "Succeeded", exitCode: 0, outputs, artifactRefs };
}

/** The Run event that tells an outcome. */
export function outcomeEvent(outcome: AttemptOutcome, retry: Retry, now: number): RunEvent {
  switch (outcome.kind) {
    case "Succeeded": {
      const { exitCode, outputs, artifactRefs } = outcome;
      return { type: "SUCCEED", exitCode, outputs, artifactRefs, now };
    }
    case "Failed": {
      const { reason, message, exitCode } = outcome;
      return { type: "FAIL", reason, message, ...(exitCode !== undefined && { exitCode }), retry, now };
    }
    case "Cancelled":
      return { type: "CANCEL", message: outcome.message, now };
    case "HandedBack":
      return { type: "HAND_BACK", message: outcome.message, now };
  }
}
