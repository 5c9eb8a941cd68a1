/** Counters of one scheduler since its start, and gauges of the moment. */
export interface SchedulerMetrics {
  /** Decisions that chose a Pod, and those that found none. */
  readonly placed: number;
  readonly waited: number;
  /** Milliseconds spent in decisions, and the longest one. */
  readonly decisionMs: number;
  readonly slowestDecisionMs: number;
  /** Status writes by what they said. */
  readonly written: Readonly<Record<"assign" | "wait" | "cancel" | "invalid" | "takeBack", number>>;
  /** Writes that found another version of the Run, and writes that failed. */
  readonly conflicts: number;
  readonly failures: number;
  /** Classes of waiting Runs that an event opened. */
  readonly woken: number;
  /** Pending Runs in the queue, Runs that back off, and Runs charged to Pods. */
  readonly pending: number;
  readonly sleeping: number;
  readonly active: number;
  /** Writes under way. */
  readonly inFlight: number;
}

/** The counters, as their owner changes them. */
export function newCounters() {
  return {
    placed: 0,
    waited: 0,
    decisionMs: 0,
    slowestDecisionMs: 0,
    written: { assign: 0, wait: 0, cancel: 0, invalid: 0, takeBack: 0 },
    conflicts: 0,
    failures: 0,
    woken: 0,
  };
}

export type Counters = ReturnType<typeof newCounters>;
