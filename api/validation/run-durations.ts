import type { Run } from "../kinds/run.ts";
import { maxBackoffMs } from "../runs.ts";
import { checkDuration } from "./duration.ts";
import type { Rule } from "./rule.ts";

/** The delay before a retry never exceeds a minute, so a longer first delay would not be honoured. */
export const runDurations: Rule<Run> = ({ spec }) => [
  ...checkDuration("spec.timeout", spec.timeout),
  ...checkDuration("spec.retryPolicy.backoff", spec.retryPolicy?.backoff, { minMs: 0, maxMs: maxBackoffMs }),
];
