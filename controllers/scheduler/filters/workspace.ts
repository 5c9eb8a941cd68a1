import type { Filter, Refusal } from "../framework.ts";

/** What every other Pod says of a Run whose workspace is bound. */
export const withoutWorkspace: Refusal = { reason: "WorkspacePodMismatch", message: "without the workspace" };

/** A Run with a workspace runs on the very Pod (by UID) that the workspace is bound to, or waits. */
export const workspacePod: Filter = {
  name: "workspace",
  filter(_run, pod, { workspace }) {
    if (workspace === undefined || (workspace.kind === "bound" && workspace.slot === pod)) return undefined;
    return workspace.kind === "bound" ? withoutWorkspace : { reason: workspace.reason, message: workspace.message };
  },
};
