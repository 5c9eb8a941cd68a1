export { type Answering, createAnswering } from "./answer.ts";
export { type ActionSettings, createWorkflowActionController, whyNotFound } from "./controller.ts";
export { stamp } from "./stamp.ts";
