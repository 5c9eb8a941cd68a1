/**
 * Every `reason` that an object of ours may show, with what it means and what to do about it. Status texts, `krt
 * explain REASON` and the reference in docs/ come from here.
 */
export interface ReasonInfo {
  /** What happened, one sentence. */
  readonly meaning: string;
  /** What the reader can do, one sentence. */
  readonly advice: string;
}

const failures = {
  Timeout: ["The attempt ran longer than its timeout.", "Raise the timeout or make the program faster."],
  SourceFailed: [
    "The source of the Run could not be fetched or written.",
    "Check repoURL, commitSHA and that the repository can be reached; the message has the error.",
  ],
  ArtifactInputFailed: [
    "An artifact input could not be put in place.",
    "The message names the input and why: a path in use, a wrong digest, an unsafe archive or a vanished object.",
  ],
  StartFailed: [
    "The program could not be started.",
    "Check that the interpreter or the command exists in the image of the Runtime.",
  ],
  ExitNonZero: ["The program ended with an exit code other than 0.", "Read the logs of the Run."],
  AttemptLost: [
    "The executor restarted and does not know the attempt any more.",
    "Set a retryPolicy; look for an out-of-memory kill in the Pod.",
  ],
  PodDeleted: ["The Runtime Pod of the Run was deleted.", "Set a retryPolicy so that it runs again on another Pod."],
  PodEvicted: ["The Runtime Pod of the Run was evicted.", "Look at the resources of the node; set a retryPolicy."],
  NodeLost: ["The agent of the Run has been silent for too long.", "Look at the node of the Pod; set a retryPolicy."],
  OutputsInvalid: [
    "The outputs file cannot be read, or an output holds the value of a Secret.",
    "The message names the line or the output; write KEY=VALUE lines in UTF-8.",
  ],
  OutputsTooLarge: [
    "The outputs exceed a limit.",
    "At most 64 keys, 128 bytes a key, 8 KiB a value, 64 KiB in all; use an artifact for more.",
  ],
  ArtifactInvalid: [
    "A file left in KRUNTIME_ARTIFACTS_DIR cannot be an artifact.",
    "Regular files and directories without links, within the limits, on a Runtime with an artifactStore.",
  ],
  ArtifactStoreUnavailable: ["The artifact store did not answer in time.", "Check the volume or bucket of the store."],
  SecretNotAvailable: [
    "A Secret or ConfigMap that the Run refers to is not available.",
    "List it in secrets or configMaps of the Runtime and check its keys.",
  ],
  WorkspaceLost: [
    "The Pod that held the workspace is gone, and its files with it.",
    "Create a new workspace; inside a workflow, retry the job.",
  ],
  InvalidResources: [
    "The requested resources can never be satisfied.",
    "Request whole numbers of resources that the Runtime lists in capacity.resources.",
  ],
  Cancelled: ["The Run was cancelled.", "Create a new Run if this was not intended."],
  RuntimeDeleted: ["The Runtime of the Run was deleted.", "Create the Runtime again, then a new Run."],
} as const;

const waiting = {
  RuntimeNotFound: ["There is no Runtime of that name.", "Create the Runtime or correct spec.runtime."],
  NoReadyPods: ["The Runtime has no ready Pod.", "Look at the Pods and conditions of the Runtime."],
  InsufficientCapacity: [
    "All Pods of the Runtime are full.",
    "Wait, raise spec.replicas or capacity.resources of the Runtime.",
  ],
  WorkspaceNotFound: ["There is no workspace of that name.", "Create the PersistentWorkspace."],
  WorkspaceNotBound: ["The workspace is not bound to a Pod yet.", "Wait until the Runtime has a ready Pod."],
  WorkspaceReleased: ["The workspace is being deleted.", "Create a new workspace."],
  WorkspaceRuntimeMismatch: [
    "The workspace belongs to another Runtime.",
    "Use the Runtime of the workspace or another workspace.",
  ],
  WorkspacePodMismatch: [
    "The Pod that the workspace is bound to was replaced.",
    "Create a new workspace; this one becomes Lost.",
  ],
  WorkspacePodNotReady: ["The Pod of the workspace is not ready.", "Wait until the Pod is ready again."],
  AffinityNotSatisfied: ["No Pod satisfies the required run affinity.", "Check the selectors of spec.affinity."],
  BackingOff: ["The next attempt waits for its back-off.", "Nothing; status.nextAttemptTime says until when."],
} as const;

const runProgress = {
  Completed: ["The program ended with exit code 0.", "Nothing."],
  TakenBack: ["The Pod did not claim the Run in time; it is placed again.", "Look at the agent of the Pod."],
  HandedBack: ["The Pod could not take the Run; it is placed again.", "Nothing."],
} as const;

const workspace = {
  Bound: ["The workspace is bound to a ready Pod.", "Nothing."],
  NoReadyRuntimePods: ["The Runtime has no ready Pod to bind to.", "Look at the Pods and conditions of the Runtime."],
  BoundPodDeleted: ["The bound Pod no longer exists.", "Create a new workspace."],
  BoundPodReplaced: ["A Pod of the same name with another UID took its place.", "Create a new workspace."],
  BoundPodDeleting: ["The bound Pod is being deleted.", "Create a new workspace."],
  BoundPodFailed: ["The bound Pod has failed or ended.", "Create a new workspace."],
  PodReady: ["The bound Pod is ready.", "Nothing."],
  PodNotReady: ["The bound Pod is not ready; its files are still there.", "Wait until the Pod is ready again."],
  ActiveRuns: ["Runs that have not ended refer to the workspace.", "Nothing."],
  Unused: ["No Run that has not ended refers to the workspace.", "Nothing."],
  TTLExpired: ["The workspace was unused for its TTL and is being deleted.", "Create a new workspace."],
  DeletionRequested: ["The workspace is being deleted.", "Create a new workspace."],
} as const;

const workflow = {
  JobFailed: ["A job failed.", "Look at the failed job in status.jobs and the logs of its Runs."],
  StepFailed: ["A step of the job failed.", "Look at the step and the logs of its Run."],
  Stopped: ["The run was stopped.", "Start it again if this was not intended."],
  Terminated: ["The run was terminated.", "Start it again if this was not intended."],
  Suspended: ["The run is suspended: what runs goes on, nothing new is started.", "Resume it with a WorkflowAction."],
  Resumed: ["The run is not suspended any more.", "Nothing."],
  WaitsForResume: ["A gate waits.", "Resume it with krt workflow resume, or a WorkflowAction."],
  GateStopped: ["Somebody stopped the gate.", "The message says why."],
  TimedOut: ["The run took longer than spec.timeout.", "Raise spec.timeout or make the jobs faster."],
  InvalidWorkflow: ["The workflow cannot be run as it is written.", "The message has the field and what to write."],
  WorkflowNotFound: ["There is no workflow of that name and uid.", "Check the name and the namespace."],
  ArtifactMissing: [
    "An artifact that a job needs does not exist.",
    "The message lists what there is; write it to KRUNTIME_ARTIFACTS_DIR in the producing job.",
  ],
  ArtifactAmbiguous: [
    "Two instances of a matrix produced an artifact of one name.",
    "Give the artifacts of the instances different names.",
  ],
  ArtifactStoreMismatch: [
    "Producer and consumer have no artifact store in common.",
    "Give both Runtimes the same artifactStore.",
  ],
  ExpressionFailed: ["An expression has no value.", "The message names the expression and the missing member."],
  ConditionNotMet: ["Its `if` did not hold when it was its turn.", "Nothing; or correct the expression."],
  InstanceFailed: [
    "Another instance of the matrix failed, and fail-fast ends the others.",
    "Look at that instance; write fail-fast: false to let the others go on.",
  ],
  StatusTooLarge: [
    "The status of the WorkflowRun has no room for the job.",
    "Use fewer steps and instances, or put a part into a Workflow of its own.",
  ],
  NeedsNotSucceeded: ["A job that this one needs did not succeed.", "Look at the job that failed first."],
  ChildDeleted: ["A child object was deleted before it ended.", "Start the run again."],
  NameCollision: [
    "An object of another owner has the name that a child needs.",
    "Delete or rename the object that the message names.",
  ],
  ChildRefused: ["The API server refused a child object.", "The message has the answer of the API server."],
  RunCompleted: ["All jobs ended well.", "Nothing."],
  InProgress: ["The run has not ended.", "Nothing."],
  WorkspaceCapacity: ["A job waits for a place for its files.", "Look at the Pods of the Runtime."],
  WorkspaceAvailable: ["The files of all running jobs are available.", "Nothing."],
} as const;

const action = {
  ActionApplied: ["The WorkflowRun is as it was asked for.", "Nothing."],
  WorkflowCompleted: [
    "The run has ended already.",
    "Run again what failed with krt workflow retry NAME, or start another one with krt workflow run.",
  ],
  WorkflowNotCompleted: ["The run has not ended.", "Wait for its end, or stop it first with krt workflow stop NAME."],
  NothingToResume: [
    "Nothing is suspended and no gate is waiting.",
    "Name a gate that waits; one that does not wait yet can be answered when it does.",
  ],
  NothingToStop: ["No active gate matches the selector.", "Correct the selector or leave it out."],
  NothingToRetry: [
    "No job would be repeated.",
    "Run jobs again that succeeded with krt workflow retry NAME --restart-successful --node-field-selector job=JOB.",
  ],
  InvalidNodeFieldSelector: [
    "The selector cannot be read or names an unknown field.",
    "Use name, job, step, displayName, phase or type with = or !=.",
  ],
  InvalidOutputParameters: [
    "The gate does not take these outputs.",
    "Answer with krt workflow resume NAME --node-field-selector name=JOB/STEP --set-output OUTPUT=VALUE.",
  ],
  InvalidInputs: [
    "The WorkflowRun cannot go on with these inputs.",
    "The message names the input, and what it can be.",
  ],
  UnsupportedAction: ["This controller does not know the action.", "Use Suspend, Resume, Stop, Terminate or Retry."],
} as const;

const pool = {
  MinimumReplicasAvailable: ["All Pods of the pool are ready.", "Nothing."],
  MinimumReplicasUnavailable: ["Not all Pods of the pool are ready.", "Look at the Pods of the Runtime."],
  RolloutComplete: ["All Pods have the current template.", "Nothing."],
  RolloutInProgress: ["Pods are being replaced.", "Wait, or look at the Pods that are not ready."],
  Healthy: ["The pool works.", "Nothing."],
  TemplateRefused: ["The Pod template is refused.", "The message has the field and what to write."],
  ObjectRefused: [
    "The API server refused an object that the pool needs beside its Pods.",
    "The message has its answer; look at the rights of the controller and the policies of the namespace.",
  ],
  PodsFailing: ["Pods of the pool cannot start.", "The message has the state of the Pods."],
} as const;

const template = {
  Valid: ["The template compiles.", "Nothing."],
  Invalid: ["The template does not compile.", "The message has the field and what to write."],
} as const;

const groups = { failures, waiting, runProgress, workspace, workflow, action, pool, template } as const;

export type RunFailureReason = keyof typeof failures;
export type WaitingReason = keyof typeof waiting | "WorkspaceLost";
export type Reason =
  | keyof typeof failures
  | keyof typeof waiting
  | keyof typeof runProgress
  | keyof typeof workspace
  | keyof typeof workflow
  | keyof typeof action
  | keyof typeof pool
  | keyof typeof template;

/** All failure reasons of an attempt. */
export const runFailureReasons = Object.keys(failures) as RunFailureReason[];

/** Failures that would only repeat themselves: never retried, whatever the policy says. */
export const finalRunFailures: ReadonlySet<RunFailureReason> = new Set([
  "ArtifactInputFailed",
  "OutputsInvalid",
  "OutputsTooLarge",
  "ArtifactInvalid",
  "SecretNotAvailable",
  "WorkspaceLost",
  "InvalidResources",
  "Cancelled",
  "RuntimeDeleted",
]);

/** Failures that another attempt can cure; `retryPolicy.retryableReasons` takes these. */
export const retryableRunFailures = runFailureReasons.filter((reason) => !finalRunFailures.has(reason));

/** Names of the registry by what they are about, in the order of the reference. */
export const reasonGroups: readonly { readonly title: string; readonly reasons: readonly Reason[] }[] = [
  { title: "A Run that waits", reasons: [...names(waiting), "WorkspaceLost"] },
  { title: "An attempt that failed", reasons: names(failures) },
  { title: "The course of a Run", reasons: names(runProgress) },
  { title: "PersistentWorkspace", reasons: names(workspace) },
  { title: "WorkflowRun, jobs and steps", reasons: names(workflow) },
  { title: "WorkflowAction", reasons: names(action) },
  { title: "Runtime", reasons: names(pool) },
  { title: "Workflow and Action", reasons: names(template) },
];

function names<T extends object>(group: T): (keyof T)[] {
  return Object.keys(group) as (keyof T)[];
}

/** The registry. */
export const reasons: Readonly<Record<Reason, ReasonInfo>> = Object.fromEntries(
  Object.values(groups).flatMap((group) =>
    Object.entries(group).map(([name, [meaning, advice]]) => [name, { meaning, advice }]),
  ),
) as Record<Reason, ReasonInfo>;
