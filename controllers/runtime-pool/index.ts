export { createRuntimePool } from "./controller.ts";
export { type PoolSettings, podTemplate } from "./pod-template.ts";
