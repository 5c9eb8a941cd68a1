import type { Metric, Sample } from "#kube/process/metrics.ts";

/** What is counted beside passes and queues, with the names of its labels. */
const counters = {
  workflow_actions_total: "WorkflowActions answered, by action and outcome (the reason of a refusal).",
  deprecated_fields_total: "Objects that asked for something by a deprecated field.",
} as const;
export type Counter = keyof typeof counters;

/** Counters of one process. */
export interface Tally {
  count(counter: Counter, labels: Readonly<Record<string, string>>): void;
  metrics(prefix: string): readonly Metric[];
}

export function createTally(): Tally {
  const samples = new Map<Counter, Map<string, Sample>>(
    (Object.keys(counters) as Counter[]).map((counter) => [counter, new Map()]),
  );
  return {
    count(counter, labels) {
      const key = JSON.stringify(labels);
      const known = samples.get(counter);
      known?.set(key, { labels, value: (known.get(key)?.value ?? 0) + 1 });
    },
    metrics: (prefix) =>
      [...samples].map(([counter, values]) => ({
        name: prefix + counter,
        type: "counter",
        help: counters[counter],
        samples: [...values.values()],
      })),
  };
}
