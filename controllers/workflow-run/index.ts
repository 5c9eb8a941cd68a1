export { createWorkflowRunController, type WorkflowSettings } from "./controller.ts";
