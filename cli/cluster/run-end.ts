import type { Run } from "#api/kinds/run.ts";
import { reasons } from "#api/reasons.ts";
import { isTerminal } from "#api/runs.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";

/** Whether a Run has ended, however it did. */
export const hasEnded = ({ status }: Run): boolean => isTerminal(status?.phase);

/** The exit code of `krt run`: that of the program where it has one, else one that says what happened. */
export function exitCodeOf({ status }: Run): ExitCode {
  switch (status?.phase) {
    case "Succeeded":
      return exitCodes.succeeded;
    case "Timeout":
      return exitCodes.attemptTimeout;
    case "Cancelled":
      return exitCodes.interrupted;
    default:
      return status?.reason === "ExitNonZero" && status.exitCode ? status.exitCode : exitCodes.noExitCode;
  }
}

/** `ended as Failed: ExitNonZero: exit code 7`; what came after a success needs no words. */
export function endOf({ status }: Run): string {
  const why = [status?.reason, status?.message?.split("\n")[0]].filter(Boolean).join(": ");
  return `ended as ${status?.phase}${status?.phase === "Succeeded" || why === "" ? "" : `: ${why}`}`;
}

/** Why a Run has printed nothing: `has not begun: NoReadyPods: ...`; undefined for one that has begun. */
export function notBegun(run: Run): string | undefined {
  const { phase = "Pending", reason, message, startTime, attempt = 0 } = run.status ?? {};
  if (startTime !== undefined || attempt > 1) return undefined;
  if (hasEnded(run)) return `never ran: it ${endOf(run)}`;
  return `has not begun: ${[reason ?? phase, message?.split("\n")[0]].filter(Boolean).join(": ")}`;
}

/** What to do about a reason; undefined when the registry does not know it. */
export function adviceFor(reason: string | undefined): string | undefined {
  return reason !== undefined && Object.hasOwn(reasons, reason)
    ? reasons[reason as keyof typeof reasons].advice
    : undefined;
}
