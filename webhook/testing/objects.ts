import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { apiVersion, labels } from "#api/labels.ts";
import type { ObjectMeta } from "#api/meta.ts";
import { finish } from "#api/work.ts";
import type { Lookups } from "../lookups.ts";

/** Objects for the tests of this folder: a job `build` of WorkflowRun `w`, in namespace `n`. */

export const controller = "system:serviceaccount:kruntimes:kruntimes-controller";

export const owner: WorkflowRun = {
  metadata: { name: "w", namespace: "n", uid: "w-uid" },
  spec: { workflowRef: { name: "ci" } },
};

export interface Child {
  readonly ownerName?: string;
  readonly ownerUid?: string;
  readonly ownerKind?: string;
  readonly ownerApiVersion?: string;
  readonly isController?: boolean;
  readonly uidLabel?: string | undefined;
  readonly job?: string | undefined;
}

/** Metadata of a child as the workflow controller writes it, but for what is given. */
export function childMeta(name: string, child: Child = {}): ObjectMeta {
  const { ownerUid = "w-uid" } = child;
  const uidLabel = "uidLabel" in child ? child.uidLabel : ownerUid;
  const job = "job" in child ? child.job : "build";
  return {
    name,
    namespace: "n",
    labels: {
      ...(uidLabel === undefined ? {} : { [labels.workflowRunUID]: uidLabel }),
      ...(job === undefined ? {} : { [labels.job]: job }),
    },
    ownerReferences: [
      {
        apiVersion: child.ownerApiVersion ?? apiVersion,
        kind: child.ownerKind ?? "WorkflowRun",
        name: child.ownerName ?? "w",
        uid: ownerUid,
        controller: child.isController ?? true,
      },
    ],
  };
}

export const run = (metadata: ObjectMeta, runtime = "bash"): Run => ({
  metadata,
  spec: { runtime, source: { inline: "true" }, workspace: { name: "shared" } },
});

export const workspace = (
  metadata: ObjectMeta,
  change: Partial<PersistentWorkspace> = {},
  runtime = "bash",
): PersistentWorkspace => ({ ...change, metadata, spec: { runtime, mode: "RuntimePodLocal" } });

const never = (what: string) => async (): Promise<never> => {
  throw new Error(`nobody should ask for ${what}`);
};

/** Lookups of which only the given ones may be asked. What is stored is remembered, too, unless another memory is given. */
export const lookups = (given: Partial<Lookups>): Lookups => ({
  runtime: never("a Runtime"),
  workspace: never("a workspace"),
  workflowRun: never("a WorkflowRun"),
  workflow: never("a Workflow"),
  action: never("an Action"),
  snapshot: never("a ControllerRevision"),
  recentWorkspace: given.workspace ?? never("a workspace"),
  recentWorkflowRun: given.workflowRun ?? never("a WorkflowRun"),
  inSlices: async (work) => finish(work),
  mayUse: never("a review"),
  ...given,
});
