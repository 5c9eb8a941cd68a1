import type { Controller } from "#kube/controller.ts";
import type { Metric, Sample } from "#kube/process/metrics.ts";
import type { Tally } from "./tally.ts";

const prefix = "kruntimes_controller_";

/** What a scrape shows of controllers: each by its name, and what they counted together. */
export function controllerExposition(controllers: readonly Controller[], tally: Tally): Metric[] {
  const seen = controllers.map((controller) => ({ controller: controller.name, ...controller.metrics() }));
  const each = (value: (one: (typeof seen)[number]) => number): Sample[] =>
    seen.map((one) => ({ labels: { controller: one.controller }, value: value(one) }));
  return [
    {
      name: `${prefix}passes_total`,
      type: "counter",
      help: "Passes by how they ended.",
      samples: seen.flatMap(({ controller, outcomes }) =>
        Object.entries(outcomes).map(([outcome, value]) => ({ labels: { controller, outcome }, value })),
      ),
    },
    counter(
      "pass_seconds_total",
      "Time spent in passes.",
      each(({ busyMs }) => busyMs / 1000),
    ),
    counter(
      "overdue_total",
      "Passes that took longer than their deadline.",
      each(({ overdue }) => overdue),
    ),
    gauge(
      "queue_depth",
      "Keys that wait for a pass.",
      each(({ queue }) => queue.depth),
    ),
    gauge(
      "queue_delayed",
      "Keys whose time has not come.",
      each(({ queue }) => queue.delayed),
    ),
    ...tally.metrics(prefix),
  ];
}

const counter = (name: string, help: string, samples: readonly Sample[]): Metric => ({
  name: prefix + name,
  type: "counter",
  help,
  samples,
});

const gauge = (name: string, help: string, samples: readonly Sample[]): Metric => ({
  ...counter(name, help, samples),
  type: "gauge",
});
