import type { JobStatus, StepStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { cut, paint } from "#workflows/text.ts";
import { renderRun, renderTree } from "#workflows/tree.ts";
import { waitLine } from "./changes.ts";
import type { View } from "./view.ts";

export interface FrameOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly color: boolean;
  readonly columns: number;
  readonly rows: number;
  /** Order of the jobs of a WorkflowRun, where it is known. */
  readonly orderOf: OrderOf;
}

/** Order of the jobs of a WorkflowRun by its name, where it is known. */
export type OrderOf = (workflowRun: string) => readonly string[] | undefined;

/** What stands on the terminal while things run: at most as many lines as it has, none longer than it is wide. */
export function frame(view: View, { now, color, columns, rows, orderOf }: FrameOptions): string[] {
  // The last column is left free: some terminals wrap when it is written.
  const width = Math.max(1, columns - 1);
  const used = view.used && new Map([...view.used].map(([name, run]) => [name, withoutWaits(run)]));
  const lines = [
    ...view.workflowRuns.flatMap((run) => {
      const order = orderOf(run.metadata.name);
      return renderTree(withoutWaits(run), { now, color, width, used, ...(order === undefined ? {} : { order }) });
    }),
    ...view.runs.flatMap((run) => renderRun(run, { now, color, width })),
    ...view.waits.map((wait) => painted(cut(waitLine(wait), width), color)),
  ];
  const room = Math.max(1, rows - 1);
  if (lines.length <= room) return lines;
  const hidden = lines.length - room + 1;
  // The end is where things happen.
  return [cut(`… ${hidden} more lines above`, width), ...lines.slice(hidden)];
}

/**
 * Without the reasons of what goes on: every job waits for a moment when it begins, and that is no news. What waits for long
 * stands in the view's waits.
 */
function withoutWaits(run: WorkflowRun): WorkflowRun {
  const jobs = Object.entries(run.status?.jobs ?? {}).map(([id, job]) => {
    const steps = job.steps?.map((step) => ({
      ...quiet(step),
      ...(step.steps === undefined ? {} : { steps: step.steps.map(quiet) }),
    }));
    return [id, { ...quiet(job), ...(steps === undefined ? {} : { steps }) }] as const;
  });
  return run.status === undefined ? run : { ...run, status: { ...run.status, jobs: Object.fromEntries(jobs) } };
}

function quiet<T extends JobStatus | StepStatus>(part: T): T {
  if (hasEnded(part.phase)) return part;
  const { reason: _reason, message: _message, ...rest } = part;
  return rest as T;
}

const painted = (text: string, color: boolean) => (color ? paint(text, "yellow") : text);
