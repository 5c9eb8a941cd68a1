import { formatDuration } from "#api/duration.ts";
import type { Run } from "#api/kinds/run.ts";
import type { JobStatus, StepStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { isTerminal } from "#api/runs.ts";
import { parseTime } from "#api/time.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { printable } from "#workflows/text.ts";
import { noneUsed, type UsedRuns, usedBy } from "#workflows/used-runs.ts";
import { stepLabel } from "./label.ts";
import { isMany, type View, type Wait } from "./view.ts";

/** One thing that has a phase, in the words of a line. */
interface Fact {
  readonly phase: string;
  readonly line: string;
}

/**
 * What happened between two views, one line each: `build/checkout Running`, `build/checkout Succeeded 0.2s`. It is a comparison of
 * states, so views that were never seen in between cost lines, never wrong ones.
 */
export function changeLines(before: View | undefined, after: View): string[] {
  const old = before === undefined ? new Map<string, Fact>() : factsOf(before);
  const lines: string[] = [];
  for (const [key, { phase, line }] of factsOf(after)) {
    if (old.get(key)?.phase !== phase) lines.push(line);
  }
  const told = new Set((before?.waits ?? []).map(waitKey));
  return [...lines, ...after.waits.filter((wait) => !told.has(waitKey(wait))).map(waitLine)];
}

const waitKey = ({ label, reason }: Wait) => `${label}\n${reason}`;

export function waitLine({ label, reason, text }: Wait): string {
  return `${label} waits: ${reason}: ${printable(text)}`;
}

function factsOf(view: View): Map<string, Fact> {
  const many = isMany(view);
  return new Map([
    ...view.workflowRuns.flatMap((run) => {
      const label = (path: readonly string[]) => stepLabel(run.metadata.name, path, many);
      return [...workflowFacts(run, view.used ?? noneUsed, [], label)];
    }),
    ...view.runs.flatMap((run) => [...runFacts(run)]),
  ]);
}

type Label = (path: readonly string[]) => string;

function* workflowFacts(
  run: WorkflowRun,
  used: UsedRuns,
  around: readonly string[],
  label: Label,
): Iterable<[string, Fact]> {
  for (const [id, job] of Object.entries(run.status?.jobs ?? {})) {
    const path = [...around, id];
    const key = `${run.metadata.uid}/${id}`;
    for (const former of job.attempts ?? []) {
      yield fact(`${key} ${former.number}`, label(path), { ...former, attempt: former.number });
    }
    for (const step of job.steps ?? []) {
      for (const inner of step.steps ?? []) {
        if (inner.phase === "Waiting") continue;
        yield fact(`${key}/${step.name}/${inner.name}`, label([...path, step.name, inner.name]), inner);
      }
      if (step.phase !== "Waiting") yield fact(`${key}/${step.name}`, label([...path, step.name]), step);
    }
    const child = usedBy(job, used, path.length);
    if (child !== undefined) yield* workflowFacts(child, used, path, label);
    // While a job runs, its steps say more than it does.
    if (hasEnded(job.phase)) yield fact(`${key} ${job.attempt ?? 1}`, label(path), job);
  }
}

function* runFacts(run: Run): Iterable<[string, Fact]> {
  const { status, metadata } = run;
  if (status === undefined) return;
  const waitsForRetry = status.phase === "Pending" && status.reason === "BackingOff";
  if (status.phase !== "Running" && !waitsForRetry && !isTerminal(status.phase)) return;
  yield fact(`${metadata.uid}`, metadata.name, status);
}

type Told = Pick<
  JobStatus & StepStatus & NonNullable<Run["status"]>,
  "reason" | "message" | "attempt" | "startTime" | "completionTime"
> & {
  readonly phase: string;
};

function fact(key: string, label: string, told: Told): [string, Fact] {
  const { phase, attempt = 1 } = told;
  const number = attempt > 1 ? ` (attempt ${attempt})` : "";
  const line = `${label} ${phase}${number}${durationOf(told)}${whyOf(told)}`;
  return [key, { phase: `${phase} ${attempt}`, line }];
}

function durationOf({ startTime, completionTime }: Told): string {
  const [start, end] = [parseTime(startTime), parseTime(completionTime)];
  if (start === undefined || end === undefined) return "";
  return ` ${formatDuration(Math.max(0, Math.round((end - start) / 10) * 10))}`;
}

/** Reason and the first line of the message; what runs or went well needs none. */
function whyOf({ phase, reason, message }: Told): string {
  if (phase === "Succeeded" || phase === "Running" || (reason === undefined && message === undefined)) return "";
  const [first = ""] = (message ?? "").split("\n");
  return ` ${[reason, printable(first)].filter((part) => part !== undefined && part !== "").join(": ")}`;
}
