import type { Filter } from "../framework.ts";

/** A Run with a workspace runs on the very Pod (by UID) that the workspace is bound to, or waits. */
export const workspacePod: Filter = {
  name: "workspace",
  filter(_run, pod, { workspace }) {
    if (workspace === undefined || (workspace.kind === "bound" && workspace.slot === pod)) return undefined;
    return workspace.kind === "bound"
      ? { reason: "WorkspacePodMismatch", message: "not the Pod of the workspace" }
      : { reason: workspace.reason, message: workspace.message };
  },
};
