import { type Static, Type } from "@sinclair/typebox";
import type { Resource } from "../meta.ts";
import {
  AtomicList,
  Conditions,
  Duration,
  Enum,
  immutable,
  ListMap,
  MapOf,
  ObjectName,
  ObservedGeneration,
  Opaque,
  Time,
} from "../schema.ts";
import { workflowRunPhases } from "../workflow-phases.ts";
import { ArtifactRef } from "./artifact-ref.ts";
import { Jobs } from "./job.ts";

export type WorkflowRunPhase = (typeof workflowRunPhases)[number];

export const jobPhases = [
  "Waiting",
  "Queued",
  "Running",
  "Suspended",
  "Stopping",
  "Succeeded",
  "Failed",
  "Cancelled",
  "Skipped",
] as const;
export type JobPhase = (typeof jobPhases)[number];

export const stepPhases = [
  "Waiting",
  "Running",
  "Suspended",
  "Stopping",
  "Succeeded",
  "Failed",
  "Cancelled",
  "Skipped",
] as const;
export type StepPhase = (typeof stepPhases)[number];

export const WorkflowRunSpec = Type.Object(
  {
    workflowRef: Type.Optional(
      Type.Object({ name: ObjectName("Workflow of the same namespace.") }, { description: "The Workflow to run." }),
    ),
    inputs: Type.Optional(Opaque({ description: "Inputs of the Workflow by name.", maxProperties: 64 })),
    jobs: Type.Optional(Jobs("Jobs by id, instead of workflowRef.")),
    parallelism: Type.Optional(Type.Integer({ description: "Jobs at a time.", minimum: 1, maximum: 256 })),
    timeout: Type.Optional(Duration("Longest time of the whole run.")),
    ttlSecondsAfterFinished: Type.Optional(
      Type.Integer({ description: "Deleted this long after its end; absent means kept.", minimum: 0, format: "int32" }),
    ),
    suspend: Type.Optional(
      Type.Boolean({
        description: "Start suspended. To change it later is deprecated: create a WorkflowAction instead.",
      }),
    ),
    shutdown: Type.Optional(
      Enum(["Stop", "Terminate"], { description: "Deprecated: create a WorkflowAction instead." }),
    ),
  },
  {
    description: "One execution of a Workflow.",
    "x-kubernetes-validations": [
      { rule: "has(self.workflowRef) != has(self.jobs)", message: "exactly one of workflowRef and jobs must be set" },
      { rule: "!has(self.inputs) || has(self.workflowRef)", message: "inputs need workflowRef", fieldPath: ".inputs" },
      ...immutable("workflowRef", "inputs", "jobs", "parallelism", "timeout"),
    ],
  },
);
export type WorkflowRunSpec = Static<typeof WorkflowRunSpec>;

const Values = (description: string) =>
  Type.Optional(MapOf(Type.String({ maxLength: 8192 }), { description, maxProperties: 64 }));

const reason = () => Type.Optional(Type.String({ description: "One word from the reasons registry.", maxLength: 63 }));
const message = () => Type.Optional(Type.String({ description: "A sentence for people.", maxLength: 4096 }));

/** A failure that `continue-on-error` makes none for what is around it: the phase is GitHub's outcome, with this mark its conclusion. */
const continued = (what: string, group: string) =>
  Type.Optional(Type.Boolean({ description: `The ${what} failed, and that is no failure of the ${group}.` }));

const nestedStep = {
  name: Type.String({ description: "Name of the step.", maxLength: 63 }),
  phase: Enum(stepPhases, { description: "Where the step is." }),
  attempt: Type.Optional(Type.Integer({ description: "Attempt of its Run, from 1.", minimum: 1 })),
  collision: Type.Optional(
    Type.Integer({ description: "Names tried that belonged to somebody else.", minimum: 0, maximum: 100 }),
  ),
  runName: Type.Optional(Type.String({ description: "Its child Run.", maxLength: 253 })),
  exitCode: Type.Optional(Type.Integer({ description: "Exit code of the program." })),
  continued: continued("step", "job"),
  outputs: Values("Values from KRUNTIME_OUTPUTS, however it ended."),
  reason: reason(),
  message: message(),
  startTime: Type.Optional(Time("Its start.")),
  completionTime: Type.Optional(Time("Its end.")),
};

export const StepStatus = Type.Object({
  ...nestedStep,
  gate: Type.Optional(
    Type.Object(
      { deadline: Type.Optional(Time("When it resumes by itself.")) },
      { description: "Of a gate: until when it waits." },
    ),
  ),
  steps: Type.Optional(
    ListMap(Type.Object(nestedStep), ["name"], { description: "Steps of the Action used.", maxItems: 128 }),
  ),
});
export type StepStatus = Static<typeof StepStatus>;

/** Attempts of a job that are remembered. */
export const maxJobAttempts = 10;

const JobAttempt = Type.Object({
  number: Type.Integer({ description: "Attempt number, from 1." }),
  phase: Enum(jobPhases, { description: "How it ended." }),
  reason: reason(),
  startTime: Type.Optional(Time("Its start.")),
  completionTime: Type.Optional(Time("Its end.")),
});

/** Instances of a matrix that are remembered after they left it; as many as a matrix can have. */
export const maxFormerInstances = 256;

const FormerInstance = Type.Object({
  id: Type.String({ description: "Its id in `status.jobs` then; its Runs have it as a label.", maxLength: 63 }),
  matrix: Opaque({ description: "Its values of the matrix." }),
  attempts: AtomicList(JobAttempt, { description: "Its latest attempts.", maxItems: maxJobAttempts }),
});
export type FormerInstance = Static<typeof FormerInstance>;
export type JobAttempt = Static<typeof JobAttempt>;

/** Artifacts that the steps of one job may leave, by different names. */
export const maxJobArtifacts = 64;

export const JobStatus = Type.Object({
  phase: Enum(jobPhases, { description: "Where the job is." }),
  reason: reason(),
  message: message(),
  attempt: Type.Optional(Type.Integer({ description: "Attempt of the job, from 1.", minimum: 1 })),
  attempts: Type.Optional(
    AtomicList(JobAttempt, {
      description: "The latest attempts that were followed by another one.",
      maxItems: maxJobAttempts,
    }),
  ),
  opened: Type.Optional(
    Type.Object(
      {
        runAttempt: Type.Integer({ description: "Attempt of the run.", minimum: 1 }),
        attempt: Type.Integer({ description: "First attempt of the job in it.", minimum: 1 }),
      },
      { description: "By the last Retry of the run that concerned the job; `retry` of the job counts from there." },
    ),
  ),
  nextAttemptTime: Type.Optional(Time("Not started before.")),
  collision: Type.Optional(
    Type.Integer({ description: "Workspace names tried that belonged to somebody else.", minimum: 0, maximum: 100 }),
  ),
  startTime: Type.Optional(Time("Its start.")),
  stopTime: Type.Optional(Time("When it was asked to end; steps that clean up have five minutes from then.")),
  completionTime: Type.Optional(Time("Its end.")),
  continued: continued("job", "run"),
  outputs: Values("Values for other jobs."),
  instances: Type.Optional(
    Type.Integer({
      description: "Of a job with a matrix: its instances are the jobs JOB.0, JOB.1 and so on.",
      minimum: 1,
      maximum: 256,
    }),
  ),
  former: Type.Optional(
    AtomicList(FormerInstance, {
      description:
        "Of a job with a matrix: instances of earlier attempts of the run that its matrix does not have now.",
      maxItems: maxFormerInstances,
    }),
  ),
  matrix: Type.Optional(Opaque({ description: "Of an instance: its values of the matrix." })),
  workflowRunName: Type.Optional(Type.String({ description: "Child WorkflowRun of a `uses` job.", maxLength: 63 })),
  artifacts: Type.Optional(MapOf(ArtifactRef, { description: "Artifacts by name.", maxProperties: maxJobArtifacts })),
  steps: Type.Optional(ListMap(StepStatus, ["name"], { description: "Steps.", maxItems: 128 })),
});
export type JobStatus = Static<typeof JobStatus>;

/** Actions that are recorded and whose own status is not known to be written; with so many, further ones wait. */
export const maxAppliedActions = 32;

export const WorkflowRunStatus = Type.Object(
  {
    phase: Enum(workflowRunPhases, { description: "Where the run is." }),
    observedGeneration: ObservedGeneration(),
    reason: reason(),
    message: message(),
    suspended: Type.Optional(Type.Boolean({ description: "Nothing new is started." })),
    attempt: Type.Optional(Type.Integer({ description: "Rises by one with each Retry.", minimum: 1 })),
    inputs: Type.Optional(
      Opaque({ description: "Inputs instead of spec.inputs, since a Retry that gave others.", maxProperties: 64 }),
    ),
    shutdown: Type.Optional(Enum(["Stop", "Terminate"], { description: "How it was asked to end." })),
    observedSpecSuspend: Type.Optional(Type.Boolean({ description: "spec.suspend as last honoured." })),
    observedSpecShutdown: Type.Optional(
      Enum(["Stop", "Terminate"], { description: "spec.shutdown as last honoured." }),
    ),
    appliedActions: Type.Optional(
      ListMap(
        Type.Object({
          uid: Type.String({ description: "UID of the WorkflowAction.", maxLength: 64 }),
          name: ObjectName("Name of the WorkflowAction."),
          action: Type.String({ description: "What it asked for.", maxLength: 63 }),
          at: Time("When it was applied."),
          outcome: Enum(["Succeeded", "Failed"], { description: "How it ended." }),
          reason: reason(),
          message: message(),
        }),
        ["uid"],
        {
          description: "Write-ahead record of actions whose own status may not be written yet.",
          maxItems: maxAppliedActions,
        },
      ),
    ),
    snapshotRef: Type.Optional(
      Type.Object(
        { name: ObjectName("Name of the ControllerRevision.") },
        { description: "Frozen copy of the templates used." },
      ),
    ),
    startTime: Type.Optional(Time("When it left Pending.")),
    completionTime: Type.Optional(Time("When it ended.")),
    progress: Type.Optional(Type.String({ description: "Jobs ended of all jobs, e.g. 3/5.", maxLength: 16 })),
    outputs: Values("Outputs of the Workflow."),
    jobs: Type.Optional(MapOf(JobStatus, { description: "Jobs by id.", maxProperties: 320 })),
    conditions: Type.Optional(Conditions()),
  },
  { description: "What became of it.", default: { phase: "Pending" } },
);
export type WorkflowRunStatus = Static<typeof WorkflowRunStatus>;
export type AppliedAction = NonNullable<WorkflowRunStatus["appliedActions"]>[number];

export interface WorkflowRun extends Resource<WorkflowRunSpec, WorkflowRunStatus> {}
