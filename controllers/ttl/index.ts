export { createRunTtl, createWorkflowRunTtl } from "./controller.ts";
