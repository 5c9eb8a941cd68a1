import type { Run } from "#api/kinds/run.ts";
import { paint } from "#workflows/text.ts";
import { renderRun, renderTree } from "#workflows/tree.ts";
import type { OrderOf } from "../progress/frame.ts";
import type { Tails } from "../progress/tails.ts";
import { isMany, type View } from "../progress/view.ts";
import { failureLines } from "./failures.ts";

export interface SummaryOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly color: boolean;
  readonly orderOf: OrderOf;
}

/** How everything ended: trees of jobs and steps with outputs and artifacts, then what failed. Nothing is cut. */
export function summaryLines(
  view: View,
  runs: readonly Run[],
  tails: Pick<Tails, "of">,
  options: SummaryOptions,
): string[] {
  const { now, color, orderOf } = options;
  const failures = failureLines(runs, tails, isMany(view), view.used);
  return [
    ...view.workflowRuns.flatMap((run) => {
      const order = orderOf(run.metadata.name);
      return renderTree(run, { now, color, used: view.used, ...(order === undefined ? {} : { order }) });
    }),
    ...view.runs.flatMap((run) => renderRun(run, { now, color })),
    ...(failures.length === 0 ? [] : ["", ...failures.map((line) => (color ? paint(line, "red") : line))]),
  ];
}
