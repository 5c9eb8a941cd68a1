import type { Run } from "#api/kinds/run.ts";

const full = "the Pod with the files of the job is full";
const unplaced = "the files of the job have no Pod yet";
const notReady = "the Pod with the files of the job is not ready";
const absent = "the files of the job are not there";

/** By the reason of a Run that waits for its workspace. */
const ofWorkspace: Readonly<Record<string, string>> = {
  InsufficientCapacity: full,
  WorkspaceNotBound: unplaced,
  WorkspacePodNotReady: notReady,
  WorkspaceNotFound: absent,
  WorkspaceLost: absent,
  WorkspaceReleased: absent,
  WorkspaceRuntimeMismatch: absent,
  WorkspacePodMismatch: absent,
};

/**
 * What a step says of its Run that waits, or that has lost its workspace: in words of the workflow. The Run itself says which Pod and
 * which workspace it is; the status of a workflow has none of that.
 */
export function messageOf({ status }: Run): string | undefined {
  const { reason = "", message } = status ?? {};
  return Object.hasOwn(ofWorkspace, reason) ? ofWorkspace[reason] : message;
}
