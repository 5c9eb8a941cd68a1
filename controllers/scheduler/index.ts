export { createScheduler, type Scheduler, type SchedulerDeps } from "./controller.ts";
export type { Filter, Plugins, Refusal, Score, Verdict } from "./framework.ts";
export type { SchedulerMetrics } from "./metrics.ts";
export { defaultPlugins } from "./plugins.ts";
