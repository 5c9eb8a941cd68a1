import type { Runtime } from "../kinds/runtime.ts";
import { checkDuration } from "./duration.ts";
import type { Rule } from "./rule.ts";

/** A day: a Pod that is being replaced longer than that is forgotten, not drained. */
const maxDrainMs = 24 * 3_600_000;

export const runtimeDurations: Rule<Runtime> = ({ spec }) =>
  checkDuration("spec.drain.timeout", spec.drain?.timeout, { minMs: 0, maxMs: maxDrainMs });
