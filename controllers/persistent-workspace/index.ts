export { createPersistentWorkspace } from "./controller.ts";
