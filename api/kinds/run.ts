import { type Static, Type } from "@sinclair/typebox";
import type { Resource } from "../meta.ts";
import { retryableRunFailures } from "../reasons.ts";
import { runPhases } from "../run-phases.ts";
import {
  AtomicList,
  Conditions,
  DataKey,
  Duration,
  Enum,
  immutable,
  LabelName,
  ListMap,
  MapOf,
  ObjectName,
  ObservedGeneration,
  Quantity,
  RelativePath,
  Time,
} from "../schema.ts";
import { ArtifactRef } from "./artifact-ref.ts";

export type RunPhase = (typeof runPhases)[number];

const Source = Type.Object(
  {
    inline: Type.Optional(
      Type.String({
        description: "Text of the script; a first line `#!...` is honoured.",
        minLength: 1,
        maxLength: 262144,
      }),
    ),
    inlinePath: Type.Optional(RelativePath("File name of inline function source.")),
    repoURL: Type.Optional(
      Type.String({ description: "Git repository (https or ssh).", minLength: 1, maxLength: 2048 }),
    ),
    commitSHA: Type.Optional(
      Type.String({ description: "Commit, tag or branch to check out.", minLength: 1, maxLength: 256 }),
    ),
    credentialsSecretName: Type.Optional(
      ObjectName(
        "Secret, listed by the Runtime: `username` and `password`, or `token`, for https; `ssh-privatekey` and `known_hosts` for ssh.",
      ),
    ),
  },
  {
    description: "Where the program comes from. Without it the arguments are the command.",
    "x-kubernetes-validations": [
      { rule: "!(has(self.inline) && has(self.repoURL))", message: "inline and repoURL exclude each other" },
      { rule: "!has(self.commitSHA) || has(self.repoURL)", message: "commitSHA needs repoURL" },
      { rule: "!has(self.credentialsSecretName) || has(self.repoURL)", message: "credentialsSecretName needs repoURL" },
      { rule: "!has(self.inlinePath) || has(self.inline)", message: "inlinePath needs inline" },
    ],
  },
);

const Mode = Type.Object(
  {
    task: Type.Optional(
      Type.Object(
        {
          entrypoint: Type.Optional(RelativePath("Script inside a Git source; default `script`.")),
          args: Type.Optional(
            AtomicList(Type.String({ maxLength: 8192 }), {
              description: "Arguments of the script, or the command itself when there is no source.",
              minItems: 1,
              maxItems: 256,
            }),
          ),
        },
        { description: "Run once to the end." },
      ),
    ),
    function: Type.Optional(
      Type.Object(
        {
          handler: Type.String({ description: "`module.function` or `file.function`.", minLength: 1, maxLength: 512 }),
          idleTimeoutSeconds: Type.Optional(Type.Integer({ description: "Release after this idle time.", minimum: 1 })),
        },
        { description: "Register a function and serve invocations." },
      ),
    ),
    session: Type.Optional(
      Type.Object(
        {
          leaseTimeoutSeconds: Type.Optional(
            Type.Integer({ description: "Close after this time without a heartbeat.", minimum: 1 }),
          ),
          queueSize: Type.Optional(Type.Integer({ description: "Waiting operations.", minimum: 1, maximum: 32 })),
          operationTimeout: Type.Optional(Duration("Bound for one operation.")),
        },
        { description: "Hold a Pod for interactive operations." },
      ),
    ),
  },
  {
    description: "How the Run executes; exactly one member.",
    default: { task: {} },
    "x-kubernetes-validations": [
      {
        // `function` is a reserved word of CEL, which Kubernetes escapes in field names.
        rule: "(has(self.task) ? 1 : 0) + (has(self.__function__) ? 1 : 0) + (has(self.session) ? 1 : 0) == 1",
        message: "exactly one of task, function and session must be set",
      },
    ],
  },
);

export const WorkspaceReference = Type.Object(
  {
    name: ObjectName("Name of the workspace, in the namespace of the Run."),
    kind: Type.Optional(Enum(["PersistentWorkspace"], { description: "Kind.", default: "PersistentWorkspace" })),
    apiGroup: Type.Optional(
      Enum(["kruntimes.io/v1alpha1"], { description: "Group and version.", default: "kruntimes.io/v1alpha1" }),
    ),
  },
  {
    description:
      "Workspace to execute in. All who use one workspace must trust each other: it is no isolation between hostile users.",
  },
);

const LabelSelector = Type.Object(
  {
    matchLabels: Type.Optional(
      MapOf(Type.String({ maxLength: 63 }), { description: "All of these labels.", maxProperties: 32 }),
    ),
    matchExpressions: Type.Optional(
      AtomicList(
        Type.Object({
          key: Type.String({ description: "Label key.", minLength: 1, maxLength: 317 }),
          operator: Enum(["In", "NotIn", "Exists", "DoesNotExist"], { description: "Relation." }),
          values: Type.Optional(
            AtomicList(Type.String({ maxLength: 63 }), { description: "Values of In and NotIn.", maxItems: 32 }),
          ),
        }),
        { description: "All of these requirements.", maxItems: 32 },
      ),
    ),
  },
  { description: "A selector over the labels of Runs." },
);
export type LabelSelector = Static<typeof LabelSelector>;

const AffinityTerm = Type.Object(
  {
    labelSelector: LabelSelector,
    topologyKey: Enum(["kruntimes.io/runtime-pod"], { description: "The Runtime Pod is the only topology." }),
  },
  { description: "Runs, and the place that they share." },
);
export type RunAffinityTerm = Static<typeof AffinityTerm>;

const AffinityRules = (description: string) =>
  Type.Object(
    {
      requiredDuringSchedulingIgnoredDuringExecution: Type.Optional(
        AtomicList(AffinityTerm, { description: "Terms that must hold.", maxItems: 32 }),
      ),
      preferredDuringSchedulingIgnoredDuringExecution: Type.Optional(
        AtomicList(
          Type.Object({
            weight: Type.Integer({ description: "Weight.", minimum: 1, maximum: 100 }),
            runAffinityTerm: AffinityTerm,
          }),
          { description: "Terms that should hold.", maxItems: 32 },
        ),
      ),
    },
    { description },
  );

const EnvVar = Type.Object(
  {
    name: Type.String({
      description: "Variable name; names beginning with KRUNTIME_ are reserved.",
      minLength: 1,
      maxLength: 256,
      pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
    }),
    value: Type.Optional(Type.String({ description: "Its value.", maxLength: 32768 })),
    valueFrom: Type.Optional(
      Type.Object(
        {
          secretKeyRef: Type.Optional(KeyRef("Key of a Secret that the Runtime lists.")),
          configMapKeyRef: Type.Optional(KeyRef("Key of a ConfigMap that the Runtime lists.")),
        },
        {
          description: "Value from a Secret or ConfigMap that the Runtime lists.",
          "x-kubernetes-validations": [
            {
              rule: "has(self.secretKeyRef) != has(self.configMapKeyRef)",
              message: "exactly one of secretKeyRef and configMapKeyRef must be set",
            },
          ],
        },
      ),
    ),
  },
  {
    "x-kubernetes-validations": [
      { rule: "!(has(self.value) && has(self.valueFrom))", message: "value and valueFrom exclude each other" },
    ],
  },
);
export type EnvVar = Static<typeof EnvVar>;

function KeyRef(description: string) {
  return Type.Object(
    {
      name: ObjectName("Name of the object."),
      key: DataKey("Key in it; its value has to be text."),
      optional: Type.Optional(
        Type.Boolean({ description: "Leave the variable out when there is no such object or key." }),
      ),
    },
    { description },
  );
}

export const RunArtifactInput = Type.Object({
  ref: ArtifactRef,
  path: RelativePath("Where to put it, below the working directory."),
});
export type RunArtifactInput = Static<typeof RunArtifactInput>;

export const RetryPolicy = Type.Object(
  {
    maxAttempts: Type.Optional(
      Type.Integer({ description: "Attempts in all, the first one included.", minimum: 1, maximum: 100, default: 1 }),
    ),
    backoff: Type.Optional(Duration("Delay before the second attempt (default 1s); doubles each time, at most 60s.")),
    retryableReasons: Type.Optional(
      AtomicList(Enum(retryableRunFailures), {
        description: "Only these failures are retried; empty means all that are retryable.",
        maxItems: 32,
      }),
    ),
  },
  { description: "When a failed attempt is repeated." },
);

export const RunSpec = Type.Object(
  {
    runtime: LabelName("The Runtime that executes it."),
    source: Type.Optional(Source),
    mode: Type.Optional(Mode),
    workspace: Type.Optional(WorkspaceReference),
    artifactInputs: Type.Optional(
      AtomicList(RunArtifactInput, { description: "Artifacts put in place before the start.", maxItems: 32 }),
    ),
    affinity: Type.Optional(
      Type.Object(
        {
          runAffinity: Type.Optional(AffinityRules("Prefer or require Pods that run matching Runs.")),
          runAntiAffinity: Type.Optional(AffinityRules("Avoid Pods that run matching Runs.")),
        },
        { description: "Placement relative to other Runs." },
      ),
    ),
    resources: Type.Optional(
      Type.Object(
        {
          requests: Type.Optional(
            MapOf(Quantity(), {
              description: "Logical capacity it takes from the Runtime Pod, whole numbers; `runs: 1` when absent.",
              maxProperties: 16,
            }),
          ),
        },
        { description: "Logical capacity." },
      ),
    ),
    priority: Type.Optional(
      Type.Integer({ description: "Higher is placed first; default 0.", minimum: -1000000, maximum: 1000000 }),
    ),
    env: Type.Optional(ListMap(EnvVar, ["name"], { description: "Environment of the program.", maxItems: 256 })),
    timeout: Type.Optional(Duration("Longest time of one attempt, from its start.")),
    termination: Type.Optional(
      Type.Object(
        {
          mode: Enum(["Immediate", "Drain"], {
            description: "Immediate cancels; Drain lets a session finish its operations.",
          }),
          message: Type.Optional(Type.String({ description: "Why, for people.", maxLength: 1024 })),
        },
        { description: "Asks the Run to end. It cannot be taken back." },
      ),
    ),
    retryPolicy: Type.Optional(RetryPolicy),
    ttlSecondsAfterFinished: Type.Optional(
      Type.Integer({ description: "Deleted this long after its end; absent means kept.", minimum: 0, format: "int32" }),
    ),
  },
  {
    description: "What to execute, where and how often.",
    "x-kubernetes-validations": [
      ...immutable(
        "runtime",
        "source",
        "mode",
        "workspace",
        "artifactInputs",
        "affinity",
        "resources",
        "priority",
        "env",
        "timeout",
        "retryPolicy",
      ),
      {
        rule: "!has(oldSelf.termination) || (has(self.termination) && (self.termination.mode == oldSelf.termination.mode || self.termination.mode == 'Immediate'))",
        message: "termination cannot be taken back or weakened",
        fieldPath: ".termination",
      },
      {
        rule: "!has(self.termination) || self.termination.mode != 'Drain' || (has(self.mode) && has(self.mode.session))",
        message: "Drain is for sessions; use Immediate",
        fieldPath: ".termination",
      },
      {
        rule: "!has(self.source) || !has(self.source.inlinePath) || (has(self.mode) && has(self.mode.__function__))",
        message: "inlinePath is for functions",
        fieldPath: ".source.inlinePath",
      },
      {
        rule: "!has(self.mode) || !has(self.mode.__function__) || (has(self.source) && (has(self.source.inlinePath) || has(self.source.repoURL)))",
        message: "a function needs source.inline with source.inlinePath, or source.repoURL",
        fieldPath: ".source",
      },
      {
        rule: "!has(self.mode) || !has(self.mode.task) || !has(self.mode.task.entrypoint) || (has(self.source) && has(self.source.repoURL))",
        message: "entrypoint names a file of source.repoURL; leave it out for an inline script or a command",
        fieldPath: ".mode.task.entrypoint",
      },
      {
        rule: "!has(self.mode) || !has(self.mode.task) || has(self.mode.task.args) || (has(self.source) && (has(self.source.inline) || has(self.source.repoURL)))",
        message: "a task needs a program: source.inline, source.repoURL, or a command in mode.task.args",
        fieldPath: ".source",
      },
      {
        rule: "!has(self.workspace) || !has(self.mode) || !has(self.mode.session)",
        message: "a session cannot use a workspace",
        fieldPath: ".workspace",
      },
    ],
  },
);
export type RunSpec = Static<typeof RunSpec>;

/** One attempt that has ended (bounded history). */
const RunAttempt = Type.Object({
  number: Type.Integer({ description: "Attempt number, from 1." }),
  pod: Type.Optional(Type.String({ description: "Pod that ran it.", maxLength: 253 })),
  reason: Type.Optional(Type.String({ description: "Why it failed.", maxLength: 63 })),
  startTime: Type.Optional(Time("Its start.")),
  endTime: Type.Optional(Time("Its end.")),
  exitCode: Type.Optional(Type.Integer({ description: "Exit code of the program." })),
});

export const RunStatus = Type.Object(
  {
    phase: Enum(runPhases, { description: "Where the Run is in its life." }),
    observedGeneration: ObservedGeneration(),
    reason: Type.Optional(Type.String({ description: "One word from the reasons registry.", maxLength: 63 })),
    message: Type.Optional(Type.String({ description: "A sentence for people.", maxLength: 4096 })),
    assignedPod: Type.Optional(Type.String({ description: "Pod that it is assigned to.", maxLength: 253 })),
    assignedPodUID: Type.Optional(Type.String({ description: "UID of that Pod.", maxLength: 64 })),
    assignmentEpoch: Type.Optional(
      Type.Integer({ description: "Rises by one with each assignment.", minimum: 0, format: "int64" }),
    ),
    attempt: Type.Optional(Type.Integer({ description: "Rises by one with each claim.", minimum: 0 })),
    attempts: Type.Optional(AtomicList(RunAttempt, { description: "Attempts that ended, latest last.", maxItems: 10 })),
    startTime: Type.Optional(Time("Start of the current attempt.")),
    completionTime: Type.Optional(Time("When the Run ended.")),
    nextAttemptTime: Type.Optional(Time("The next attempt is not placed before this.")),
    duration: Type.Optional(Type.String({ description: "Length of the last attempt.", maxLength: 32 })),
    exitCode: Type.Optional(Type.Integer({ description: "Exit code of the program." })),
    outputs: Type.Optional(
      MapOf(Type.String({ maxLength: 8192 }), {
        description: "Values from KRUNTIME_OUTPUTS of the last attempt, however it ended.",
        maxProperties: 64,
      }),
    ),
    artifactRefs: Type.Optional(AtomicList(ArtifactRef, { description: "Stored artifacts.", maxItems: 32 })),
    endpoint: Type.Optional(
      Type.Object(
        {
          protocol: Enum(["HTTP", "HTTPS"], { description: "Protocol." }),
          url: Type.String({ description: "Address.", maxLength: 2048 }),
          caBundle: Type.Optional(Type.String({ description: "PEM certificates to trust.", maxLength: 16384 })),
        },
        { description: "Where a function or session is reached." },
      ),
    ),
    conditions: Type.Optional(Conditions()),
  },
  { description: "What became of it.", default: { phase: "Pending" } },
);
export type RunStatus = Static<typeof RunStatus>;

export interface Run extends Resource<RunSpec, RunStatus> {}
