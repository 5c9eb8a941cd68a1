import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { RunFailureReason } from "#api/reasons.ts";
import type { Retry } from "#api/runs.ts";
import type { RunEvent } from "./run.ts";

type Outputs = Record<string, string>;

/** How an attempt ends; the agent turns it into the Run event of the same meaning. */
export type AttemptOutcome =
  | { kind: "Succeeded"; exitCode: number; outputs: Outputs; artifactRefs: ArtifactRef[] }
  | { kind: "Failed"; reason: RunFailureReason; message: string; exitCode?: number; outputs?: Outputs }
  | { kind: "Cancelled"; message: string; outputs?: Outputs }
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

export function success(outputs: Outputs, artifactRefs: ArtifactRef[]): AttemptOutcome {
  return { kind: "Succeeded", exitCode: 0, outputs, artifactRefs };
}

/** Whether the program was ended from outside in the middle of its work: what it had written until then counts. */
export function wasCutShort(outcome: AttemptOutcome | undefined): boolean {
  return outcome?.kind === "Cancelled" || (outcome?.kind === "Failed" && outcome.reason === "Timeout");
}

/** An end without success, with what the program had written before it. */
export function withOutputs(outcome: AttemptOutcome | undefined, outputs: Outputs): AttemptOutcome | undefined {
  return outcome?.kind === "Failed" || outcome?.kind === "Cancelled" ? { ...outcome, outputs } : outcome;
}

/** An end without success whose outputs cannot be recorded: why it ended stays the reason. */
export function withoutOutputs(outcome: AttemptOutcome | undefined, why: string): AttemptOutcome | undefined {
  if (outcome?.kind !== "Failed" && outcome?.kind !== "Cancelled") return outcome;
  const { outputs: _, ...rest } = outcome;
  return { ...rest, message: `${outcome.message}; its outputs are not recorded: ${why}` };
}

/** The Run event that tells an outcome. */
export function outcomeEvent(outcome: AttemptOutcome, retry: Retry, now: number): RunEvent {
  switch (outcome.kind) {
    case "Succeeded": {
      const { exitCode, outputs, artifactRefs } = outcome;
      return { type: "SUCCEED", exitCode, outputs, artifactRefs, now };
    }
    case "Failed": {
      const { kind: _, ...failed } = outcome;
      return { type: "FAIL", ...failed, retry, now };
    }
    case "Cancelled": {
      const { kind: _, ...cancelled } = outcome;
      return { type: "CANCEL", ...cancelled, now };
    }
    case "HandedBack":
      return { type: "HAND_BACK", message: outcome.message, now };
  }
}
