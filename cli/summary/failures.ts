import type { Run } from "#api/kinds/run.ts";
import { type Reason, reasons } from "#api/reasons.ts";
import { printable } from "#workflows/text.ts";
import type { UsedRuns } from "#workflows/used-runs.ts";
import { labelOf } from "../progress/label.ts";
import type { Tails } from "../progress/tails.ts";

/**
 * What people need beyond the tree to understand the Runs that failed: what to do about the reason, and the last lines on stderr
 * where the message does not quote them.
 */
export function failureLines(runs: readonly Run[], tails: Pick<Tails, "of">, many: boolean, used?: UsedRuns): string[] {
  return runs.flatMap((run) => {
    const { phase, reason = "", message = "" } = run.status ?? {};
    if (phase !== "Failed" && phase !== "Timeout") return [];
    const tail = tails.of(run.metadata.uid ?? "").map((line) => printable(line.trimEnd()));
    const last = tail.findLast((line) => line.trim() !== "");
    const quoted = last === undefined || message.includes(last.trim());
    const known = Object.hasOwn(reasons, reason) ? reasons[reason as Reason] : undefined;
    return [
      `${labelOf(run, many, used)} failed: ${known === undefined ? reason : `${reason}: ${known.meaning} ${known.advice}`}`,
      ...(quoted ? [] : ["  last lines on stderr:", ...tail.map((line) => `    ${line}`)]),
    ];
  });
}
