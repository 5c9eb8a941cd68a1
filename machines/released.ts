/** What the last release admitted; written by `npm run statecharts:release`, and never by hand. */
import type { ReleasedChart } from "./lib/union.ts";
import charts from "./released/charts.json" with { type: "json" };

export interface Released {
  /** Version of the release; null before the first one. */
  readonly release: string | null;
  readonly charts: Readonly<Record<string, ReleasedChart>>;
}

export const released: Released = charts;
