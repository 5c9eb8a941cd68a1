export { createRuntimePool } from "./controller.ts";
export type { ClusterSettings } from "./on-cluster.ts";
export { type PoolSettings, podTemplate } from "./pod-template.ts";
