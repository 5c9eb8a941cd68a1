import { by, type Metric, single } from "#kube/process/metrics.ts";
import type { SchedulerMetrics } from "./metrics.ts";

const prefix = "kruntimes_scheduler_";

/** What a scrape shows of the scheduler. */
export function schedulerExposition(metrics: SchedulerMetrics): Metric[] {
  const { placed, waited, pending, sleeping, active, inFlight } = metrics;
  return [
    by("result", `${prefix}decisions_total`, "counter", "Decisions by what they found.", { placed, waited }),
    single(`${prefix}decision_seconds_total`, "counter", "Time spent in decisions.", metrics.decisionMs / 1000),
    single(`${prefix}slowest_decision_seconds`, "gauge", "Longest decision so far.", metrics.slowestDecisionMs / 1000),
    by("kind", `${prefix}writes_total`, "counter", "Status writes by what they said.", metrics.written),
    single(`${prefix}write_conflicts_total`, "counter", "Writes that found another version.", metrics.conflicts),
    single(`${prefix}write_failures_total`, "counter", "Writes that failed.", metrics.failures),
    single(`${prefix}wakeups_total`, "counter", "Classes of waiting Runs that an event opened.", metrics.woken),
    by("state", `${prefix}runs`, "gauge", "Runs by what the scheduler does with them.", { pending, sleeping, active }),
    single(`${prefix}writes_in_flight`, "gauge", "Writes under way.", inFlight),
  ];
}
