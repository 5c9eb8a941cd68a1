import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { UsedRuns } from "#workflows/used-runs.ts";
import { type StepRun, stepRuns } from "./step-runs.ts";

/** Shows the output of the steps of a WorkflowRun while it goes on: of each Run once, and of a job what came earlier first. */
export class StepStreams {
  readonly #show: (step: StepRun) => Promise<void>;
  /** By the name of the Run. */
  readonly #shown = new Map<string, Promise<void>>();
  /** What is shown of a job before its current attempt. */
  readonly #before = new Map<string, Promise<void>>();

  constructor(show: (step: StepRun) => Promise<void>) {
    this.#show = show;
  }

  /** Shows what earlier attempts have printed, of each job in order. @returns when that is done */
  async earlier(steps: readonly StepRun[]): Promise<void> {
    for (const step of steps) {
      if (!step.earlier || this.#shown.has(step.runName)) continue;
      const next = this.#after(step);
      this.#before.set(step.job, next);
      this.#shown.set(step.runName, next);
    }
    await Promise.all(this.#before.values());
  }

  /** Opens the logs of the steps that have begun since the last call. */
  current(run: WorkflowRun, used: UsedRuns, attempt?: number): void {
    for (const step of stepRuns(run, { runs: [], workflowRuns: [...used.values()] }).steps) {
      if (step.earlier || this.#shown.has(step.runName)) continue;
      if (attempt === undefined || step.attempt === attempt) this.#shown.set(step.runName, this.#after(step));
    }
  }

  /** Resolves when everything that was printed has been shown. */
  async ended(): Promise<void> {
    await Promise.all(this.#shown.values());
  }

  #after(step: StepRun): Promise<void> {
    const before = this.#before.get(step.job);
    return before === undefined ? this.#show(step) : before.then(() => this.#show(step));
  }
}
