import type { TSchema } from "@sinclair/typebox";
import { PersistentWorkspaceSpec, PersistentWorkspaceStatus } from "../kinds/persistent-workspace.ts";
import { RunSpec, RunStatus } from "../kinds/run.ts";
import { RuntimeSpec, RuntimeStatus } from "../kinds/runtime.ts";
import { ActionSpec, ActionStatus, WorkflowSpec, WorkflowStatus } from "../kinds/workflow.ts";
import { WorkflowActionSpec, WorkflowActionStatus } from "../kinds/workflow-action.ts";
import { WorkflowRunSpec, WorkflowRunStatus } from "../kinds/workflow-run.ts";
import type { KubeObject } from "../meta.ts";
import { maxLabelLength, maxRuntimeName } from "../names.ts";
import {
  actions,
  type OwnResource,
  persistentWorkspaces,
  runs,
  runtimes,
  workflowActions,
  workflowRuns,
  workflows,
} from "../resources.ts";
import { patterns } from "../schema.ts";

/** A column of `kubectl get`; those with priority 1 are shown by `-o wide` only. */
export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  readonly description: string;
  readonly priority?: 1;
}

/** Tighter bounds of metadata.name than Kubernetes has, and why. */
export interface NameBounds {
  readonly maxLength: number;
  readonly pattern?: string;
  readonly why: string;
}

/** All that a CustomResourceDefinition and the reference say about a kind beyond its fields. */
export interface KindEntry {
  readonly resource: OwnResource<KubeObject>;
  readonly shortNames: readonly string[];
  readonly description: string;
  readonly spec: TSchema;
  readonly status: TSchema;
  readonly columns: readonly Column[];
  /** Paths that field selectors may use, beside metadata.name and metadata.namespace. */
  readonly selectable: readonly string[];
  /** Types of the conditions in its status, with what True means. */
  readonly conditions: Readonly<Record<string, string>>;
  readonly name?: NameBounds;
  readonly scale?: true;
}

const age: Column = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "Time since its creation.",
};
const text = (name: string, jsonPath: string, description: string): Column => ({
  name,
  type: "string",
  jsonPath,
  description,
});
const count = (name: string, jsonPath: string, description: string): Column => ({
  name,
  type: "integer",
  jsonPath,
  description,
});
const wide = (column: Column): Column => ({ ...column, priority: 1 });
const condition = (type: string) => `.status.conditions[?(@.type=="${type}")].status`;
const phase = text("Phase", ".status.phase", "Where it is in its life.");
/** Only while it is false: afterwards the condition has another reason, or is gone. */
const lacking = '.status.conditions[?(@.reason=="WorkspaceCapacity")]';
const reason = text("Reason", ".status.reason", "Why, in one word.");

const run: KindEntry = {
  resource: runs,
  shortNames: ["rn"],
  description: "A Run is one short execution on a warm Pod of a Runtime.",
  spec: RunSpec,
  status: RunStatus,
  columns: [
    text("Runtime", ".spec.runtime", "The Runtime that executes it."),
    phase,
    reason,
    text("Pod", ".status.assignedPod", "Pod that it is assigned to."),
    age,
    wide(count("Attempt", ".status.attempt", "Number of the attempt.")),
    wide(text("Duration", ".status.duration", "Length of the last attempt.")),
    wide(text("Message", ".status.message", "A sentence for people.")),
  ],
  selectable: [".spec.runtime", ".status.phase", ".status.assignedPod"],
  conditions: {
    Succeeded: "The Run ended well (True) or not (False); absent before its end.",
    Finished: "The Run has ended, however it did; absent before its end.",
    Scheduled: "False while the Run waits; the reason says for what.",
    Ready: "A function or session can be reached.",
  },
};

const runtime: KindEntry = {
  resource: runtimes,
  shortNames: ["rt"],
  description:
    "A Runtime is a pool of warm Pods that execute Runs. Runs on one Pod trust each other: a Pod is no isolation for hostile code.",
  spec: RuntimeSpec,
  status: RuntimeStatus,
  columns: [
    text("Image", ".spec.template.spec.containers[0].image", "Image of the container `runtime`."),
    count("Ready", ".status.readyReplicas", "Pods that take Runs."),
    count("Replicas", ".spec.replicas", "Pods that are wanted."),
    count("Active", ".status.activeRuns", "Runs on the Pods now."),
    age,
  ],
  selectable: [],
  conditions: {
    Available: "All Pods that are wanted are ready.",
    Progressing: "Pods are being made or replaced.",
    Degraded: "The pool cannot be what the spec says; the message says why.",
  },
  name: {
    maxLength: maxRuntimeName,
    pattern: patterns.label,
    why: "its Pods are named after it, with a hash and an id behind, and have at most 63 characters without dots",
  },
  scale: true,
};

const persistentWorkspace: KindEntry = {
  resource: persistentWorkspaces,
  shortNames: ["pw"],
  description: "A PersistentWorkspace is a directory on one Runtime Pod that several Runs share.",
  spec: PersistentWorkspaceSpec,
  status: PersistentWorkspaceStatus,
  columns: [
    phase,
    text("Runtime", ".spec.runtime", "The Runtime whose Pods hold it."),
    text("Pod", ".status.boundPod", "Pod that holds the directory."),
    text("In use", condition("InUse"), "Whether Runs that have not ended refer to it."),
    age,
  ],
  selectable: [".spec.runtime", ".status.phase", ".status.boundPod"],
  conditions: {
    Bound: "The workspace is bound to a Pod.",
    PodReady: "The bound Pod is ready.",
    InUse: "Runs that have not ended refer to it.",
  },
};

const workflow: KindEntry = {
  resource: workflows,
  shortNames: ["wf"],
  description: "A Workflow is a template of jobs that WorkflowRuns execute.",
  spec: WorkflowSpec,
  status: WorkflowStatus,
  columns: [
    text("Valid", condition("Valid"), "Whether it compiles."),
    count("Jobs", ".status.jobs", "Number of jobs."),
    age,
  ],
  selectable: [],
  conditions: { Valid: "Graph, references and expressions compile." },
};

const action: KindEntry = {
  resource: actions,
  shortNames: [],
  description: "An Action is a row of steps that jobs use by name.",
  spec: ActionSpec,
  status: ActionStatus,
  columns: [
    text("Valid", condition("Valid"), "Whether it compiles."),
    count("Steps", ".status.steps", "Number of steps."),
    age,
  ],
  selectable: [],
  conditions: { Valid: "Steps and expressions compile." },
};

const workflowRun: KindEntry = {
  resource: workflowRuns,
  shortNames: ["wfr"],
  description: "A WorkflowRun is one execution of a Workflow, or of the jobs that it holds itself.",
  spec: WorkflowRunSpec,
  status: WorkflowRunStatus,
  columns: [
    text("Workflow", ".spec.workflowRef.name", "The Workflow; empty for jobs of its own."),
    phase,
    reason,
    text("Gate", '.status.jobs.*.steps[?(@.phase=="Suspended")].name', "A gate that waits for a Resume."),
    text("Lacks", `${lacking}.reason`, "What a job waits for, in one word."),
    text("Progress", ".status.progress", "Jobs ended of all jobs."),
    age,
    wide(text("Message", ".status.message", "A sentence for people.")),
    wide(text("Waits", `${lacking}.message`, "Which job waits for what.")),
  ],
  selectable: [],
  conditions: {
    Succeeded: "The run ended well (True) or not (False); absent before its end.",
    Finished: "The run has ended, however it did; absent before its end.",
    Suspended: "Nothing new is started.",
    WorkspaceReady: "The files of all running jobs are available.",
  },
  name: { maxLength: maxLabelLength, why: "it becomes a label of its child objects" },
};

const workflowAction: KindEntry = {
  resource: workflowActions,
  shortNames: ["wfa"],
  description:
    "A WorkflowAction asks the workflow controller to suspend, resume, stop, terminate or retry a WorkflowRun.",
  spec: WorkflowActionSpec,
  status: WorkflowActionStatus,
  columns: [
    text("Target", ".spec.workflowRef.name", "The WorkflowRun."),
    text("Action", ".spec.action", "What is asked for."),
    text("Phase", ".status.phase", "Outcome."),
    age,
    wide(reason),
    wide(text("Message", ".status.message", "A sentence for people.")),
  ],
  selectable: [],
  conditions: {
    Succeeded: "The action was applied (True) or refused (False); absent before its end.",
    Finished: "The action has been answered, however that was; absent before its end.",
  },
};

/** Every kind of the group, in the order of the reference. */
export const kinds = {
  Run: run,
  Runtime: runtime,
  PersistentWorkspace: persistentWorkspace,
  Workflow: workflow,
  Action: action,
  WorkflowRun: workflowRun,
  WorkflowAction: workflowAction,
} as const;

export type Kind = keyof typeof kinds;

/** Whether a name is one of our kinds. */
export function isKind(kind: string): kind is Kind {
  return Object.hasOwn(kinds, kind);
}
