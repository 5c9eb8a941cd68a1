/**
 * What the CRDs alone accept and refuse, one sentence a case. The same cases hold for every API server that loads them, so nothing here
 * relies on admission.
 */
import type { Kind } from "#api/crd/kinds.ts";

export interface RuleCase {
  readonly kind: Kind;
  readonly spec: object;
  readonly status?: object;
  /** The object before, for an update; a create otherwise. */
  readonly old?: { readonly spec: object; readonly status?: object };
  /** Part of the message that refuses it, with the path of the field; absent means accepted. */
  readonly refused?: { readonly path: string; readonly message: RegExp };
  readonly name?: string;
}

const run = (spec: object, refused?: RuleCase["refused"], old?: object): RuleCase => ({
  kind: "Run",
  spec: { runtime: "bash", source: { inline: "true" }, ...spec },
  ...(old === undefined ? {} : { old: { spec: { runtime: "bash", source: { inline: "true" }, ...old } } }),
  ...(refused === undefined ? {} : { refused }),
});
const by = (path: string, message: RegExp) => ({ path, message });
const git = { repoURL: "https://example.com/r.git" };
const noProgram = /a task needs a program/;
const immutable = /cannot be changed; create a new object instead/;

const ref = (over: object = {}) => ({
  name: "a.tgz",
  driver: "Filesystem",
  type: "File",
  location: { filesystem: { path: "runs/u/artifacts/a.tgz" } },
  sizeBytes: 1,
  digest: `sha256:${"0".repeat(64)}`,
  ...over,
});
const input = (path: string, over: object = {}) => ({ artifactInputs: [{ ref: ref(over), path }] });
const inputPath = by("spec.artifactInputs[0].path", /should match/);

const runCases: Record<string, RuleCase> = {
  "a script": run({}),
  "a command without source": run({ source: undefined, mode: { task: { args: ["true"] } } }),
  "a script with arguments": run({ mode: { task: { args: ["a"] } } }),
  "no program at all": run({ source: undefined }, by("spec.source", noProgram)),
  "an empty source is no program": run({ source: {} }, by("spec.source", noProgram)),
  "a git source": run({ source: git, mode: { task: { entrypoint: "bin/run" } } }),
  "two modes": run({ mode: { task: {}, session: {} } }, by("spec.mode", /exactly one of task, function and session/)),
  "no mode": run({ mode: {} }, by("spec.mode", /exactly one of task, function and session/)),
  "an entrypoint beside an inline script": run(
    { mode: { task: { entrypoint: "a" } } },
    by("spec.mode.task.entrypoint", /entrypoint names a file of source.repoURL/),
  ),
  "an entrypoint that climbs": run(
    { source: git, mode: { task: { entrypoint: "../x" } } },
    by("spec.mode.task.entrypoint", /should match/),
  ),
  "inline and git": run({ source: { inline: "true", ...git } }, by("spec.source", /exclude each other/)),
  "a commit without repository": run({ source: { inline: "x", commitSHA: "a" } }, by("spec.source", /needs repoURL/)),
  "credentials without repository": run(
    { source: { inline: "x", credentialsSecretName: "a" } },
    by("spec.source", /needs repoURL/),
  ),
  "a file name without inline source": run(
    { source: { ...git, inlinePath: "a.py" }, mode: { function: { handler: "a.b" } } },
    by("spec.source", /inlinePath needs inline/),
  ),
  "a file name for a task": run(
    { source: { inline: "x", inlinePath: "a.py" } },
    by("spec.source.inlinePath", /inlinePath is for functions/),
  ),
  "a function with its file": run({
    source: { inline: "x", inlinePath: "a.py" },
    mode: { function: { handler: "a.b" } },
  }),
  "an inline function without file name": run(
    { mode: { function: { handler: "a.b" } } },
    by("spec.source", /a function needs source.inline with source.inlinePath/),
  ),
  "a session in a workspace": run(
    { mode: { session: {} }, workspace: { name: "w" } },
    by("spec.workspace", /a session cannot use a workspace/),
  ),
  "draining a task": run({ termination: { mode: "Drain" } }, by("spec.termination", /Drain is for sessions/)),
  "an unknown way to end": run({ termination: { mode: "Soon" } }, by("spec.termination.mode", /Unsupported value/)),
  "a workspace of another kind": run(
    { workspace: { name: "w", kind: "ConfigMap" } },
    by("spec.workspace.kind", /Unsupported value/),
  ),
  "a variable with two values": run(
    { env: [{ name: "A", value: "1", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] },
    by("spec.env[0]", /value and valueFrom exclude each other/),
  ),
  "a variable from two places": run(
    {
      env: [
        { name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k" }, configMapKeyRef: { name: "c", key: "k" } } },
      ],
    },
    by("spec.env[0].valueFrom", /exactly one of secretKeyRef and configMapKeyRef/),
  ),
  "one variable twice": run({ env: [{ name: "A" }, { name: "A" }] }, by("spec.env[1]", /Duplicate value/)),
  "a variable that no shell can name": run({ env: [{ name: "A-B" }] }, by("spec.env[0].name", /should match/)),
  "an artifact input": run(input("in/a.tgz")),
  "an absolute input path": run(input("/a"), inputPath),
  "an input path that climbs": run(input("a/../b"), inputPath),
  "an input path with an empty segment": run(input("a//b"), inputPath),
  "an input path with a dot": run(input("./a"), inputPath),
  "names that begin with dots": run(input("..a/.b/...")),
  "a location of another driver": run(
    input("a", { location: { s3: { bucket: "b", key: "k" } } }),
    by("spec.artifactInputs[0].ref", /location must match driver/),
  ),
  "two locations": run(
    input("a", { location: { filesystem: { path: "a" }, s3: { bucket: "b", key: "k" } } }),
    by("spec.artifactInputs[0].ref.location", /exactly one of filesystem and s3/),
  ),
  "a digest of another hash": run(
    input("a", { digest: "md5:0" }),
    by("spec.artifactInputs[0].ref.digest", /should match/),
  ),
  "another input later": run(input("b"), by("spec.artifactInputs", immutable), input("a")),
  "another workspace later": run({ workspace: { name: "other" } }, by("spec.workspace", immutable), {
    workspace: { name: "one" },
  }),
  "a workspace added later": run({ workspace: { name: "one" } }, by("spec.workspace", immutable), {}),
  "a hundred and one attempts": run(
    { retryPolicy: { maxAttempts: 101 } },
    by("spec.retryPolicy.maxAttempts", /less than or equal to 100/),
  ),
  "a reason that is not in the registry": run(
    { retryPolicy: { retryableReasons: ["Boredom"] } },
    by("spec.retryPolicy.retryableReasons[0]", /Unsupported value/),
  ),
  "a reason that no attempt can cure": run(
    { retryPolicy: { retryableReasons: ["Cancelled"] } },
    by("spec.retryPolicy.retryableReasons[0]", /Unsupported value/),
  ),
  "a timeout in words": run({ timeout: "soon" }, by("spec.timeout", /should match/)),
  "a Runtime name with a dot": run({ runtime: "a.b" }, by("spec.runtime", /should match/)),
  "a script of 256 KiB": run({ source: { inline: "x".repeat(262_144) } }),
  "a script beyond 256 KiB": run({ source: { inline: "x".repeat(262_145) } }, by("spec.source.inline", /Too long/)),
  "text for a number": run({ priority: "high" }, by("spec.priority", /must be of type integer/)),
  "another Runtime later": run({ runtime: "python" }, by("spec.runtime", immutable), {}),
  "another script later": run({ source: { inline: "false" } }, by("spec.source", immutable), {}),
  "a timeout added later": run({ timeout: "1s" }, by("spec.timeout", immutable), {}),
  "a timeout taken away later": run({}, by("spec.timeout", immutable), { timeout: "1s" }),
  "another variable later": run({ env: [{ name: "A", value: "2" }] }, by("spec.env", immutable), {
    env: [{ name: "A", value: "1" }],
  }),
  "other resources later": run({ resources: { requests: { gpu: 2 } } }, by("spec.resources", immutable), {
    resources: { requests: { gpu: 1 } },
  }),
  "a lifetime added later": run({ ttlSecondsAfterFinished: 5 }, undefined, {}),
  "an end asked for later": run({ termination: { mode: "Immediate" } }, undefined, {}),
  "an end taken back": run({}, by("spec.termination", /cannot be taken back/), { termination: { mode: "Immediate" } }),
  "a message for an end that was asked for": run({ termination: { mode: "Immediate", message: "x" } }, undefined, {
    termination: { mode: "Immediate" },
  }),
};

const pod = { spec: { containers: [{ name: "runtime", image: "bash", resources: { limits: { cpu: "1" } } }] } };
const runtime = (spec: object, refused?: RuleCase["refused"], name?: string): RuleCase => ({
  kind: "Runtime",
  spec: { template: pod, ...spec },
  ...(refused === undefined ? {} : { refused }),
  ...(name === undefined ? {} : { name }),
});

const runtimeCases: Record<string, RuleCase> = {
  "an image is enough": runtime({}),
  "a Runtime without template": { kind: "Runtime", spec: {}, refused: by("spec.template", /Required value/) },
  "a Pod without containers": runtime(
    { template: { spec: { containers: [] } } },
    by("spec.template.spec.containers", /should have at least 1 items/),
  ),
  "a workspace on a claim": runtime({ workspace: { persistentVolumeClaim: { claimName: "c" } } }),
  "a workspace with a size": runtime({ workspace: { emptyDir: { sizeLimit: "1Gi" } } }),
  "two sources for the workspace": runtime(
    { workspace: { emptyDir: {}, persistentVolumeClaim: { claimName: "c" } } },
    by("spec.workspace", /at most one volume source/),
  ),
  "interpreter and command": runtime(
    { server: { interpreter: "bash", command: ["sh"] } },
    by("spec.server", /exclude each other/),
  ),
  "a store without its member": runtime(
    { artifactStore: { driver: "Filesystem" } },
    by("spec.artifactStore", /exactly the member that driver names/),
  ),
  "a store with another member": runtime(
    { artifactStore: { driver: "S3", filesystem: { volumeClaimName: "c" } } },
    by("spec.artifactStore", /exactly the member that driver names/),
  ),
  "a bucket": runtime({ artifactStore: { driver: "S3", s3: { bucket: "b" } } }),
  "a bucket with a slash": runtime(
    { artifactStore: { driver: "S3", s3: { bucket: "b/c" } } },
    by("spec.artifactStore.s3.bucket", /should match/),
  ),
  "no Pods": runtime({ replicas: 0 }),
  "fewer than no Pods": runtime({ replicas: -1 }, by("spec.replicas", /greater than or equal to 0/)),
  "one Secret twice": runtime({ secrets: ["a", "a"] }, by("spec.secrets[1]", /Duplicate value/)),
  "a name that Pods have no room for": runtime({}, by("metadata.name", /Too long/), "a".repeat(41)),
};

const step = (fields: object, name = "a") => ({ name, ...fields });
const jobs = (fields: object) => ({ jobs: { build: { "runs-on": "bash", ...fields } } });
const workflow = (spec: object, refused?: RuleCase["refused"]): RuleCase => ({
  kind: "Workflow",
  spec,
  ...(refused === undefined ? {} : { refused }),
});
const steps = "spec.jobs.build.steps";

const workflowCases: Record<string, RuleCase> = {
  "a job with steps": workflow(jobs({ steps: [step({ run: "true" }), step({ run: "true" }, "b")] })),
  "a workflow without jobs": workflow({ jobs: {} }, by("spec.jobs", /at least 1 properties/)),
  "a job without steps": workflow(jobs({ steps: [] }), by(steps, /should have at least 1 items/)),
  "a job with neither steps nor uses": workflow(jobs({}), by("spec.jobs.build", /exactly one of steps and uses/)),
  "a job with steps and uses": workflow(
    jobs({ steps: [step({ run: "true" })], uses: "w" }),
    by("spec.jobs.build", /exactly one of steps and uses/),
  ),
  "two steps of one name": workflow(
    jobs({ steps: [step({ run: "true" }), step({ run: "false" })] }),
    by(`${steps}[1]`, /Duplicate value/),
  ),
  "a step without name": workflow(jobs({ steps: [{ run: "true" }] }), by(`${steps}[0].name`, /Required value/)),
  "a step with a name that is no id": workflow(
    jobs({ steps: [step({ run: "true" }, "9 lives")] }),
    by(`${steps}[0].name`, /should match/),
  ),
  "a step that does nothing": workflow(
    jobs({ steps: [step({})] }),
    by(`${steps}[0]`, /exactly one of run, uses and suspend/),
  ),
  "a step that does two things": workflow(
    jobs({ steps: [step({ run: "true", uses: "a" })] }),
    by(`${steps}[0]`, /exactly one of run, uses and suspend/),
  ),
  "a gate": workflow(jobs({ steps: [step({ suspend: {} })] })),
  "an artifact of a job": workflow(
    jobs({ steps: [step({ run: "true", artifacts: [{ from: "jobs.a.artifacts.dist.tgz", path: "x/y" }] })] }),
  ),
  "an artifact of a step": workflow(
    jobs({ steps: [step({ run: "true", artifacts: [{ from: "steps.a.artifacts.x", path: "x" }] })] }),
    by(`${steps}[0].artifacts[0].from`, /should match/),
  ),
  "an artifact outside": workflow(
    jobs({ steps: [step({ run: "true", artifacts: [{ from: "jobs.a.artifacts.x", path: "../x" }] })] }),
    by(`${steps}[0].artifacts[0].path`, /should match/),
  ),
  "an Action with a step": { kind: "Action", spec: { steps: [step({ run: "true" })] } },
  "an Action without steps": { kind: "Action", spec: {}, refused: by("spec.steps", /Required value/) },
};

const inline = jobs({ steps: [step({ run: "true" }), step({ run: "true" }, "b")] });
const workflowRun = (spec: object, refused?: RuleCase["refused"], old?: object): RuleCase => ({
  kind: "WorkflowRun",
  spec,
  ...(refused === undefined ? {} : { refused }),
  ...(old === undefined ? {} : { old: { spec: old } }),
});

const workflowRunCases: Record<string, RuleCase> = {
  "a reference": workflowRun({ workflowRef: { name: "w" }, inputs: { a: 1, b: { c: [true] } } }),
  "jobs of its own": workflowRun(inline),
  "a reference and jobs": workflowRun(
    { ...inline, workflowRef: { name: "w" } },
    by("spec", /exactly one of workflowRef and jobs/),
  ),
  "nothing to run": workflowRun({}, by("spec", /exactly one of workflowRef and jobs/)),
  "inputs for jobs of its own": workflowRun(
    { ...inline, inputs: { a: 1 } },
    by("spec.inputs", /inputs need workflowRef/),
  ),
  "another workflow later": workflowRun({ workflowRef: { name: "v" } }, by("spec.workflowRef", immutable), {
    workflowRef: { name: "w" },
  }),
  "another script later": workflowRun(
    jobs({ steps: [step({ run: "false" }), step({ run: "true" }, "b")] }),
    by("spec.jobs", immutable),
    inline,
  ),
  "an input later": workflowRun({ workflowRef: { name: "w" }, inputs: { a: 2 } }, by("spec.inputs", immutable), {
    workflowRef: { name: "w" },
    inputs: { a: 1 },
  }),
  "suspended later": workflowRun({ ...inline, suspend: true }, undefined, inline),
  "a name that no label can hold": { ...workflowRun(inline, by("metadata.name", /Too long/)), name: "a".repeat(64) },
};

const workspaceCases: Record<string, RuleCase> = {
  "a workspace": { kind: "PersistentWorkspace", spec: { runtime: "bash" } },
  "a mode that is not there": {
    kind: "PersistentWorkspace",
    spec: { runtime: "bash", mode: "Cluster" },
    refused: by("spec.mode", /Unsupported value/),
  },
  "another Runtime later": {
    kind: "PersistentWorkspace",
    spec: { runtime: "python" },
    old: { spec: { runtime: "bash" } },
    refused: by("spec.runtime", immutable),
  },
  "another lifetime and policy later": {
    kind: "PersistentWorkspace",
    spec: { runtime: "bash", ttlSecondsAfterUnused: 1, cleanupPolicy: "Retain" },
    old: { spec: { runtime: "bash" } },
  },
};

const specOf = (kind: Kind) =>
  kind === "WorkflowRun"
    ? inline
    : kind === "Run"
      ? { runtime: "bash", source: { inline: "true" } }
      : { runtime: "bash" };
const status = (kind: Kind, from: object | undefined, to: object, refused?: RuleCase["refused"]): RuleCase => ({
  kind,
  spec: specOf(kind),
  status: to,
  ...(from === undefined ? {} : { old: { spec: specOf(kind), status: from } }),
  ...(refused === undefined ? {} : { refused }),
});
const illegal = by("status.phase", /phase may only move along the [a-z-]+ statechart/);
const assigned = { phase: "Scheduled", assignedPod: "p", assignedPodUID: "u", assignmentEpoch: 1 };

/** A few moves of each chart; that rule and chart agree on all of them is shown where the charts are tested. */
const statusCases: Record<string, RuleCase> = {
  "a placement": status("Run", undefined, assigned),
  "a claim": status("Run", assigned, { ...assigned, phase: "Running", attempt: 1 }),
  "several steps in one write": status("Run", undefined, { phase: "Succeeded" }),
  "an end that is taken back": status("Run", { phase: "Succeeded" }, { phase: "Running" }, illegal),
  "a phase that is in no chart": status("Run", undefined, { phase: "Done" }, by("status.phase", /Unsupported value/)),
  "a binding": status("PersistentWorkspace", undefined, { phase: "Bound", boundPod: "p", boundPodUID: "u" }),
  "another Pod for a bound workspace": status(
    "PersistentWorkspace",
    { phase: "Bound", boundPod: "p", boundPodUID: "u" },
    { phase: "Bound", boundPod: "q", boundPodUID: "v" },
    by("status.boundPodUID", /boundPodUID cannot be changed/),
  ),
  "a lost workspace that is bound again": status(
    "PersistentWorkspace",
    { phase: "Lost" },
    { phase: "Bound", boundPod: "q", boundPodUID: "v" },
    illegal,
  ),
  "a run that goes back to Pending": status("WorkflowRun", { phase: "Running" }, { phase: "Pending" }, illegal),
};

/** All cases, by kind and sentence. */
const target = { workflowRef: { name: "ci" } };
const action = (spec: object, refused?: RuleCase["refused"], old?: object): RuleCase => ({
  kind: "WorkflowAction",
  spec: { ...target, ...spec },
  ...(refused === undefined ? {} : { refused }),
  ...(old === undefined ? {} : { old: { spec: { ...target, ...old } } }),
});
const gates = { nodeFieldSelector: "type=Gate" };

const workflowActionCases: Record<string, RuleCase> = {
  "an action alone": action({ action: "Suspend" }),
  "an action that may come later": action({ action: "Skip" }),
  "an action that pins its target": action({ action: "Stop", workflowRef: { name: "ci", uid: "u" } }),
  "an action for nobody": action({ action: "Stop", workflowRef: {} }, by("spec.workflowRef.name", /Required value/)),
  "an action in small letters": action(
    { action: "resume" },
    by("spec.action", /an action begins with a capital letter: Suspend, Resume, Stop, Terminate or Retry/),
  ),
  "an action that is no word": action({ action: "stop it" }, by("spec.action", /should match/)),
  "a Resume of gates with outputs": action({ action: "Resume", resume: { ...gates, outputParameters: { ok: "yes" } } }),
  "outputs for no gate": action(
    { action: "Resume", resume: { outputParameters: { ok: "yes" } } },
    by("spec.resume", /outputParameters need nodeFieldSelector/),
  ),
  "a Stop with a message for gates": action({ action: "Stop", stop: { ...gates, message: "no" } }),
  "parameters of Stop for a Suspend": action(
    { action: "Suspend", stop: {} },
    by("spec.stop", /stop needs action Stop/),
  ),
  "parameters of Resume for a Stop": action(
    { action: "Stop", resume: {} },
    by("spec.resume", /resume needs action Resume/),
  ),
  "parameters of Retry for a Terminate": action(
    { action: "Terminate", retry: {} },
    by("spec.retry", /retry needs action Retry/),
  ),
  "two blocks of parameters": action(
    { action: "Stop", stop: {}, resume: {} },
    by("spec.resume", /resume needs action Resume/),
  ),
  "an action that becomes another": action({ action: "Terminate" }, by("spec.action", /action cannot be changed/), {
    action: "Stop",
  }),
  "an action for another run": action(
    { action: "Stop", workflowRef: { name: "other" } },
    by("spec.workflowRef", /workflowRef cannot be changed/),
    { action: "Stop" },
  ),
};

export const ruleCases: Record<string, RuleCase> = Object.fromEntries(
  [runCases, runtimeCases, workflowCases, workflowRunCases, workflowActionCases, workspaceCases, statusCases].flatMap(
    (cases) => Object.entries(cases).map(([sentence, rule]) => [`${rule.kind}: ${sentence}`, rule] as const),
  ),
);
