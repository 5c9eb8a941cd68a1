export { createRunRecovery } from "./controller.ts";
