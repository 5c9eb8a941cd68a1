import type { StepStatus, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { type JobPlan, stepsOf } from "#workflows/plan.ts";

/** Bytes of a status that still leave room for the object around it (etcd refuses 1.5 MiB). */
export const maxStatusBytes = 768 * 1024;

/** What a step comes to in the status once it has ended, without its outputs: name, Run, times, a short message. */
export const stepBytes = 256;

/** Characters of a message that have their place in that room. */
export const shortMessage = 128;

/** What a job, or an instance of a matrix, comes to besides its steps. */
export const jobBytes = 256;

/** Why outputs cannot be recorded that have no room any more. */
export const noRoom = {
  reason: "OutputsTooLarge",
  message: "its outputs do not fit into the status of the WorkflowRun",
} as const;

/** Steps that the status lists for a job at most, those of the Actions that it uses included. */
export function stepCount(job: JobPlan): number {
  return stepsOf(job).reduce((sum, { work }) => sum + 1 + (work.kind === "action" ? work.plan.steps.length : 0), 0);
}

/** What something comes to in a status, as the API server stores it: JSON in UTF-8. */
export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/** How much the status of a WorkflowRun may still grow in a pass. Steps that are listed have their room from the beginning. */
export class Budget {
  readonly #status: WorkflowRunStatus | undefined;
  #left: number | undefined;

  /** @param status as it is stored */
  constructor(status: WorkflowRunStatus | undefined) {
    this.#status = status;
  }

  /** Takes so many bytes, if they are there. */
  take(bytes: number): boolean {
    this.#left ??= maxStatusBytes - bytesOf(this.#status ?? {}) - stepBytes * openSteps(this.#status);
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  /** Takes the room of outputs, if it is there. */
  takeOutputs(outputs: Readonly<Record<string, string>> = {}): boolean {
    return Object.keys(outputs).length === 0 || this.take(bytesOf(outputs));
  }
}

function openSteps(status: WorkflowRunStatus | undefined): number {
  const count = (steps: readonly Pick<StepStatus, "phase" | "steps">[]): number =>
    steps.reduce((sum, step) => sum + Number(!hasEnded(step.phase)) + count(step.steps ?? []), 0);
  return Object.values(status?.jobs ?? {}).reduce((sum, job) => sum + count(job.steps ?? []), 0);
}
