import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { Run, RunPhase, RunStatus } from "#api/kinds/run.ts";
import type {
  JobPhase,
  JobStatus,
  StepPhase,
  StepStatus,
  WorkflowRun,
  WorkflowRunPhase,
} from "#api/kinds/workflow-run.ts";
import type { Condition } from "#api/meta.ts";
import { parseTime } from "#api/time.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { noneUsed, type UsedRuns, usedBy } from "./used-runs.ts";

/** One line as people see it: a WorkflowRun, a job, a step or a Run of its own, with what belongs to it. */
export interface TreeNode {
  readonly name: string;
  readonly phase: WorkflowRunPhase | JobPhase | StepPhase | RunPhase;
  /** From the start to the end, or to now; absent before the start. In milliseconds. */
  readonly durationMs: number | undefined;
  /** Remarks behind the name, e.g. `attempt 2`. */
  readonly remarks: readonly string[];
  /** Why it is where it is; lines as they were written. */
  readonly message: string | undefined;
  readonly outputs: readonly (readonly [name: string, value: string])[];
  readonly artifacts: readonly ArtifactRef[];
  readonly children: readonly TreeNode[];
}

/**
 * The tree of a WorkflowRun.
 *
 * @param now milliseconds since the epoch
 * @param order of the jobs, as a plan has it; without it jobs stand in the order in which they started
 * @param used the runs that its jobs, and theirs, are: unfolded where they are known
 */
export function treeOf(run: WorkflowRun, now: number, order?: readonly string[], used: UsedRuns = noneUsed): TreeNode {
  const { status } = run;
  return {
    name: run.metadata.name,
    phase: status?.phase ?? "Pending",
    durationMs: durationOf(status ?? {}, now),
    remarks: [...attemptOf(status ?? {}), ...(status?.progress === undefined ? [] : [`${status.progress} jobs`])],
    message: whyOf(status ?? {}, status?.phase ?? "Pending") ?? whyOf(lackOf(run) ?? {}, ""),
    outputs: sorted(status?.outputs),
    artifacts: [],
    children: jobNodes(run, { now, used, level: 1 }, order),
  };
}

interface Branch {
  readonly now: number;
  readonly used: UsedRuns;
  /** Runs from the top to this one. */
  readonly level: number;
}

function jobNodes({ status }: WorkflowRun, branch: Branch, order?: readonly string[]): TreeNode[] {
  const jobs = Object.entries(status?.jobs ?? {});
  const place = ([id, job]: readonly [string, JobStatus]) => {
    const index = order?.indexOf(id) ?? -1;
    return index >= 0 ? index : (parseTime(job.startTime) ?? Number.POSITIVE_INFINITY);
  };
  // Jobs that have not started keep the order of the map: Infinity minus Infinity is no number.
  jobs.sort((a, b) => place(a) - place(b) || 0);
  return jobs.map(([id, job]) => jobNode(id, job, branch));
}

/** A Run that belongs to no workflow, as a tree of one node. */
export function runNode(run: Run, now: number): TreeNode {
  const status: Partial<RunStatus> = run.status ?? {};
  const { phase = "Pending", exitCode } = status;
  return {
    name: run.metadata.name,
    phase,
    durationMs: durationOf(status, now),
    remarks: [...attemptOf(status), ...(exitCode === undefined || exitCode === 0 ? [] : [`exit code ${exitCode}`])],
    message: whyOf(status, phase),
    outputs: sorted(status.outputs),
    artifacts: status.artifactRefs ?? [],
    children: [],
  };
}

function jobNode(id: string, job: JobStatus, branch: Branch): TreeNode {
  const { now, used, level } = branch;
  const child = usedBy(job, used, level);
  return {
    name: id,
    phase: job.phase,
    durationMs: durationOf(job, now),
    // By this name a run that is a job can be resumed, stopped and looked at.
    remarks: [...attemptOf(job), ...(job.workflowRunName === undefined ? [] : [`as ${job.workflowRunName}`])],
    message: whyOf(job, job.phase) ?? (child && whyOf(lackOf(child) ?? {}, "")),
    outputs: sorted(job.outputs),
    artifacts: sorted(job.artifacts).map(([, ref]) => ref),
    children: [
      ...(job.steps ?? []).map((step) => stepNode(step, now)),
      ...(child === undefined ? [] : jobNodes(child, { ...branch, level: level + 1 })),
    ],
  };
}

function stepNode(step: StepStatus, now: number): TreeNode {
  const { exitCode } = step;
  return {
    name: step.name,
    phase: step.phase,
    durationMs: durationOf(step, now),
    remarks: [...attemptOf(step), ...(exitCode === undefined || exitCode === 0 ? [] : [`exit code ${exitCode}`])],
    message: whyOf(step, step.phase),
    outputs: sorted(step.outputs),
    artifacts: [],
    children: (step.steps ?? []).map((inner) => stepNode(inner, now)),
  };
}

/** What a run that goes on lacks, as its conditions tell: a place for the files of a job. Its phase and those of its jobs stay silent. */
export function lackOf({ status }: WorkflowRun): Condition | undefined {
  if (status === undefined || hasEnded(status.phase)) return undefined;
  return status.conditions?.find((one) => one.type === "WorkspaceReady" && one.status === "False");
}

interface Times {
  readonly startTime?: string;
  readonly completionTime?: string;
}

function durationOf({ startTime, completionTime }: Times, now: number): number | undefined {
  const start = parseTime(startTime);
  return start === undefined ? undefined : Math.max(0, (parseTime(completionTime) ?? now) - start);
}

function attemptOf({ attempt = 1 }: { readonly attempt?: number }): string[] {
  return attempt > 1 ? [`attempt ${attempt}`] : [];
}

/** Reason and message; what went well needs no explanation. */
function whyOf(
  { reason, message }: { readonly reason?: string; readonly message?: string },
  phase: string,
): string | undefined {
  if (phase === "Succeeded" || (reason === undefined && message === undefined)) return undefined;
  return [reason, message].filter((part) => part !== undefined && part !== "").join(": ");
}

function sorted<T>(map: Readonly<Record<string, T>> | undefined): [string, T][] {
  return Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
