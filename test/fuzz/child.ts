/** Runs batches of one target in a process of its own, which its parent can end and outlives. */
import { openSync, writeSync } from "node:fs";
import { batchSeed, type Failure, type Target } from "./target.ts";

export interface Task {
  /** URL of the module whose `targets` has the target. */
  readonly module: string;
  readonly target: string;
  readonly seed: number;
  /** Milliseconds after which no other batch begins; without it there is one batch with that very seed. */
  readonly forMs?: number | undefined;
  readonly path?: string | undefined;
  /** File that holds what is tried, as a {@link beat}: it is there even when this process is not. */
  readonly beat: string;
}

export interface Report {
  readonly executions: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly failure?: Failure;
}

/** How many inputs were tried, the seed of the batch, and the place in it. */
export const beatOf = (executions: number, seed: number, run: number): Int32Array =>
  Int32Array.of(executions, seed, run);

/** Executions of one batch: few enough that time is looked at often, many enough that starting one costs nothing. */
const batchRuns = 200;

async function run(task: Task): Promise<Report> {
  const { targets } = (await import(task.module)) as { targets: readonly Target[] };
  const target = targets.find(({ name }) => name === task.target);
  if (target === undefined) throw new Error(`no target ${task.target}`);
  const beat = openSync(task.beat, "w");
  const begun = performance.now();
  let executions = 0;
  let tried = 0;
  const outcomes: Record<string, number> = Object.fromEntries(target.outcomes.map((name) => [name, 0]));
  for (let batch = 0; ; batch++) {
    const seed = task.forMs === undefined ? task.seed : batchSeed(task.seed, batch);
    const onRun = (run: number) => {
      tried++;
      writeSync(beat, beatOf(tried, seed, run), 0, undefined, 0);
    };
    const result = await target.run({ seed, runs: batchRuns, path: task.path, onRun });
    executions += result.executions;
    for (const [name, count] of Object.entries(result.outcomes)) outcomes[name] = (outcomes[name] ?? 0) + count;
    const report = { executions, outcomes, seconds: (performance.now() - begun) / 1000 };
    if (result.failure !== undefined) return { ...report, failure: result.failure };
    if (task.forMs === undefined || report.seconds * 1000 >= task.forMs) return report;
  }
}

process.once("message", (task) => {
  run(task as Task).then((report) => process.send?.(report, () => process.disconnect()));
});
