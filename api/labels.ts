/** Label keys, annotation keys and other fixed names (Kubernetes recommended labels and our own). */

export const group = "kruntimes.io";
export const version = "v1alpha1";
export const apiVersion = `${group}/${version}`;

export const labels = {
  /** Runtime that a Pod, Run or workspace belongs to. */
  runtime: "kruntimes.io/runtime",
  /** On a ReplicaSet of a pool and its Pods: hash of the Pod template. */
  templateHash: "kruntimes.io/template-hash",
  workflow: "workflows.kruntimes.io/workflow",
  workflowRun: "workflows.kruntimes.io/workflow-run",
  workflowRunUID: "workflows.kruntimes.io/workflow-run-uid",
  job: "workflows.kruntimes.io/job",
  step: "workflows.kruntimes.io/step",
  attempt: "workflows.kruntimes.io/attempt",
  actor: "workflows.kruntimes.io/actor",
  action: "workflows.kruntimes.io/action",
  creator: "workflows.kruntimes.io/creator",
  managedBy: "app.kubernetes.io/managed-by",
  partOf: "app.kubernetes.io/part-of",
  name: "app.kubernetes.io/name",
  component: "app.kubernetes.io/component",
  instance: "app.kubernetes.io/instance",
} as const;

export const annotations = {
  /** On a WorkflowAction: who created it, in full; the label of the same name is cut to what a label holds. */
  creator: "workflows.kruntimes.io/creator",
  /** On a WorkflowRun: who created the action that was applied last, in full. */
  actor: "workflows.kruntimes.io/actor",
  /** On a Runtime Pod: its logical capacity as JSON, e.g. `{"runs":2}`. */
  capacity: "kruntimes.io/capacity",
  /** On a Runtime Pod that takes no new work: since when (RFC 3339). */
  draining: "kruntimes.io/draining",
  /** Kubernetes: of the Pods of a ReplicaSet those with the lowest cost go first. */
  deletionCost: "controller.kubernetes.io/pod-deletion-cost",
  /** Cluster autoscaler: whether a Pod may be moved by deleting it. */
  safeToEvict: "cluster-autoscaler.kubernetes.io/safe-to-evict",
} as const;

/** Kept on a bound PersistentWorkspace until the agent has removed its directory. */
export const workspaceFinalizer = "kruntimes.io/persistent-workspace-cleanup";

/** The only topology of run affinity: one Runtime Pod. */
export const runtimePodTopology = "kruntimes.io/runtime-pod";
