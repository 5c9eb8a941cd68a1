export { createWorkflowTemplate } from "./controller.ts";
