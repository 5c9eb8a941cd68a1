import type { CelRule } from "#api/schema.ts";
import { lifecycles, type Persistence } from "./index.ts";
import { describe } from "./lib/describe.ts";
import { transitionRule } from "./lib/transition-rules.ts";
import { released } from "./released.ts";

/** The rule on `status` of each kind whose phase is the state of a chart. */
export function statusRules(): Readonly<Record<Persistence["kind"], CelRule>> {
  const rule = (kind: Persistence["kind"]): CelRule => {
    const chart = lifecycles.find(({ persistence }) => persistence?.kind === kind && persistence.path === "");
    if (chart === undefined) throw new RangeError(`no statechart is the status of ${kind}`);
    return transitionRule(describe(chart.machine), released.charts[chart.name]?.table);
  };
  return {
    Run: rule("Run"),
    PersistentWorkspace: rule("PersistentWorkspace"),
    WorkflowRun: rule("WorkflowRun"),
    WorkflowAction: rule("WorkflowAction"),
  };
}
