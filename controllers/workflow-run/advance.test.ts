import { expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { JobSpec } from "#api/kinds/job.ts";
import type { PersistentWorkspace, PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import type { Run, RunStatus } from "#api/kinds/run.ts";
import type { Runtime, RuntimeSpec } from "#api/kinds/runtime.ts";
import type { WorkflowRun, WorkflowRunSpec } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { timestamp } from "#api/time.ts";
import { childWorkspace } from "#workflows/child-workspace.ts";
import { compileWorkflow } from "#workflows/compile-workflow.ts";
import { advance, type Effect, stepOf } from "./advance.ts";
import { buildRun } from "./build-run.ts";
import { followUps } from "./follow-ups.ts";
import { jobContext, runtimeNameOf } from "./job-context.ts";
import { buildCall } from "./observe-call.ts";
import type { Found, Seen } from "./seen.ts";
import { placeOf } from "./step-place.ts";

const start = Date.parse("2026-01-01T00:00:00Z");

const store: RuntimeSpec["artifactStore"] = { driver: "Filesystem", filesystem: { volumeClaimName: "store" } };

function step(name: string, run = "true", more: object = {}) {
  return { name, run, ...more };
}

const job = (steps: ReturnType<typeof step>[], more: Partial<JobSpec> = {}): JobSpec => ({
  "runs-on": "bash",
  steps,
  ...more,
});

function artifact(name: string, run = "r"): ArtifactRef {
  return {
    name,
    driver: "Filesystem",
    type: "File",
    location: { filesystem: { path: `runs/${run}/artifacts/${name}` } },
    sizeBytes: 1,
    digest: `sha256:${"0".repeat(64)}`,
  };
}

/** A cluster with nothing but one WorkflowRun and its children, in which effects happen at once. */
class World {
  now = start;
  run: WorkflowRun;
  readonly runs = new Map<string, Found<Run>>();
  readonly workspaces = new Map<string, Found<PersistentWorkspace>>();
  readonly children = new Map<string, Found<WorkflowRun>>();
  readonly runtimes = new Map<string, Runtime>();
  readonly refused = new Map<string, string>();
  readonly sightings = new Map<string, number>();
  readonly created: string[] = [];
  readonly cancelled: string[] = [];
  writes = 0;
  crashBeforeEffects = false;

  constructor(jobs: Record<string, JobSpec>, spec: Partial<WorkflowRunSpec> = {}) {
    this.run = { metadata: { name: "ci", namespace: "ns", uid: "wfr" }, spec: { jobs, ...spec } };
    this.addRuntime("bash", store);
  }

  addRuntime(name: string, artifactStore?: RuntimeSpec["artifactStore"]): void {
    const spec: RuntimeSpec = { template: { spec: { containers: [{ name: "runtime" }] } } };
    this.runtimes.set(name, {
      metadata: { name },
      spec: { ...spec, ...(artifactStore === undefined ? {} : { artifactStore }) },
    });
  }

  seen(): Seen {
    const compiled = compileWorkflow({ jobs: this.run.spec.jobs ?? {} });
    return {
      run: this.run,
      source: { kind: "plan", compiled, inputs: {} },
      runs: this.runs,
      workspaces: this.workspaces,
      children: this.children,
      runtimeOf: (name) => this.runtimes.get(name),
      honoursDeprecated: true,
      waitingBelow: () => [],
      inbox: { pending: [], told: [] },
      refused: this.refused,
      sightings: this.sightings,
    };
  }

  /** One pass; returns the effects. */
  pass(): readonly Effect[] {
    const seen = this.seen();
    const { status, changed, effects } = advance(seen, this.now);
    if (changed) {
      this.writes++;
      this.run = { ...this.run, status: JSON.parse(JSON.stringify(status)) };
    }
    if (this.crashBeforeEffects) return effects;
    for (const effect of effects) this.perform(effect);
    return effects;
  }

  private perform(effect: Effect): void {
    if (effect.type === "createSnapshot") throw new Error("inline jobs need no snapshot");
    const seen = this.seen();
    if (seen.source.kind !== "plan" || !seen.source.compiled.ok) throw new Error("no plan");
    const context = jobContext(seen, seen.source.compiled.plan, effect.job, this.now);
    if (context === undefined) throw new Error(`no job ${effect.job}`);
    const status = this.run.status?.jobs?.[effect.job] ?? { phase: "Waiting" };
    switch (effect.type) {
      case "createWorkspace": {
        const { attempt, collision } = effect;
        const runtime = runtimeNameOf(context);
        const job = { id: effect.job, runsOn: runtime.ok ? runtime.value : "" };
        this.put(this.workspaces, childWorkspace({ owner: this.run, job, jobAttempt: attempt, collision }));
        return;
      }
      case "createRun": {
        const found = placeOf(context, status, effect);
        const step = stepOf(status, effect);
        if (found === undefined || step === undefined) throw new Error(`no step ${effect.step}`);
        const built = buildRun(context, status, found.place, found.plan, step.collision ?? 0);
        if (!built.ok) throw new Error(built.message);
        this.put(this.runs, built.run);
        return;
      }
      case "createWorkflowRun": {
        const child = buildCall(context, status);
        if (child === undefined) throw new Error(`no child of ${effect.job}`);
        this.put(this.children, child);
        return;
      }
      case "deleteRun":
        this.runs.delete(effect.runName);
        return;
      case "cancelRun":
        this.cancelled.push(effect.runName);
        this.change(effect.runName, (run) => ({ ...run, spec: { ...run.spec, termination: { mode: "Immediate" } } }));
        return;
      default:
        effect satisfies never;
    }
  }

  private put<T extends KubeObject>(into: Map<string, Found<T>>, object: T): void {
    const { name } = object.metadata;
    this.created.push(name);
    if ((into.get(name)?.kind ?? "absent") !== "absent") return;
    into.set(name, { kind: "ours", object: { ...object, metadata: { ...object.metadata, uid: name } } });
  }

  /** The child Run of a step, by the name that the status has. */
  child(path: string): Run {
    const [jobId = "", name] = path.split("/");
    const runName = this.run.status?.jobs?.[jobId]?.steps?.find((each) => each.name === name)?.runName ?? "";
    const found = this.runs.get(runName);
    if (found?.kind !== "ours") throw new Error(`step ${path} has no Run: ${JSON.stringify(this.run.status)}`);
    return found.object;
  }

  change(runName: string, edit: (run: Run) => Run): void {
    const found = this.runs.get(runName);
    if (found?.kind !== "ours") throw new Error(`there is no Run ${runName}`);
    this.runs.set(runName, { kind: "ours", object: edit(found.object) });
  }

  /** Lets the child Run of a step reach a status, then makes a pass. */
  becomes(path: string, status: RunStatus): readonly Effect[] {
    this.change(this.child(path).metadata.name, (run) => ({ ...run, status }));
    return this.pass();
  }

  succeeds(path: string, more: Partial<RunStatus> = {}): readonly Effect[] {
    return this.becomes(path, { phase: "Succeeded", attempt: 1, exitCode: 0, ...more });
  }

  workspaceBecomes(jobId: string, status: PersistentWorkspaceStatus): readonly Effect[] {
    for (const [name, found] of this.workspaces) {
      if (found.kind !== "ours" || found.object.metadata.labels?.["workflows.kruntimes.io/job"] !== jobId) continue;
      this.workspaces.set(name, { kind: "ours", object: { ...found.object, status } });
    }
    return this.pass();
  }

  phases(): string {
    const jobs = Object.entries(this.run.status?.jobs ?? {}).map(([id, { phase, steps = [] }]) => {
      return `${id} ${phase}${steps.length === 0 ? "" : `(${steps.map((each) => each.phase).join(" ")})`}`;
    });
    return [this.run.status?.phase, ...jobs].join(", ");
  }
}

const demo = () =>
  new World({
    build: job([step("checkout"), step("test"), step("package")], {
      outputs: { tests: "${{ steps.test.outputs.tests }}" },
    }),
    deploy: job(
      [step("verify", "echo", { artifacts: [{ from: "jobs.build.artifacts.dist.tgz", path: "dist.tgz" }] })],
      {
        needs: ["build"],
      },
    ),
  });

test("a workflow with two jobs runs to its end in one write a step", () => {
  const world = demo();
  world.pass();
  expect(world.phases()).toBe("Running, build Running(Running Waiting Waiting), deploy Waiting");
  world.succeeds("build/checkout");
  world.succeeds("build/test", { outputs: { tests: "passed" } });
  expect(world.phases()).toBe("Running, build Running(Succeeded Succeeded Running), deploy Waiting");
  world.succeeds("build/package", { artifactRefs: [artifact("dist.tgz")] });
  expect(world.phases()).toBe("Running, build Succeeded(Succeeded Succeeded Succeeded), deploy Running(Running)");
  expect(world.run.status?.jobs?.build).toMatchObject({
    outputs: { tests: "passed" },
    artifacts: { "dist.tgz": { name: "dist.tgz" } },
  });
  expect(world.child("deploy/verify").spec.artifactInputs).toEqual([{ ref: artifact("dist.tgz"), path: "dist.tgz" }]);
  world.succeeds("deploy/verify");
  expect(world.run.status).toMatchObject({ phase: "Succeeded", progress: "2/2" });
  expect(world.writes).toBe(5);
});

test("all steps of a job name one workspace, another job names its own, and neither has a TTL while it runs", () => {
  const world = demo();
  world.pass();
  const first = world.child("build/checkout").spec.workspace?.name;
  world.succeeds("build/checkout");
  expect(world.child("build/test").spec.workspace?.name).toBe(first);
  world.succeeds("build/test", { outputs: { tests: "passed" } });
  world.succeeds("build/package", { artifactRefs: [artifact("dist.tgz")] });
  expect(world.child("deploy/verify").spec.workspace?.name).not.toBe(first);
  expect([...world.workspaces.values()].map((found) => found.kind === "ours" && found.object.spec)).toEqual([
    { runtime: "bash", mode: "RuntimePodLocal", cleanupPolicy: "DeleteAfterTTL" },
    { runtime: "bash", mode: "RuntimePodLocal", cleanupPolicy: "DeleteAfterTTL" },
  ]);
});

test("a workspace gets its TTL when its job is over, not before", () => {
  const world = demo();
  world.pass();
  const unneeded = () => followUps(world.seen(), world.run.status ?? { phase: "Pending" }).unneeded.length;
  expect(unneeded()).toBe(0);
  world.becomes("build/checkout", { phase: "Failed", reason: "ExitNonZero", message: "exit code 1" });
  expect(unneeded()).toBe(1);
});

test("another attempt has a workspace of its own; the one before gets its TTL", () => {
  const world = new World({ a: job([step("one")], { retry: { attempts: 2 } }) });
  world.pass();
  const first = world.child("a/one").spec.workspace?.name;
  world.becomes("a/one", { phase: "Failed", attempt: 1, reason: "ExitNonZero", message: "exit code 1" });
  expect(world.run.status?.jobs?.a).toMatchObject({ phase: "Queued", attempt: 2, reason: "BackingOff" });
  const unneeded = followUps(world.seen(), world.run.status ?? { phase: "Pending" }).unneeded;
  expect(unneeded.map(({ metadata }) => metadata.name)).toEqual([first]);
  world.now += 60_000;
  world.pass();
  expect(world.child("a/one").spec.workspace?.name).not.toBe(first);
});

test("an artifact that was not produced fails the job at once and lists what there is", () => {
  const world = demo();
  world.pass();
  world.succeeds("build/checkout");
  world.succeeds("build/test", { outputs: { tests: "passed" } });
  world.succeeds("build/package", { artifactRefs: [artifact("other.tgz"), artifact("report.xml")] });
  const { deploy } = world.run.status?.jobs ?? {};
  expect(deploy).toMatchObject({ phase: "Failed", reason: "ArtifactMissing" });
  expect(deploy?.message).toContain("other.tgz and report.xml");
  expect(world.run.status).toMatchObject({ phase: "Failed", reason: "ArtifactMissing" });
});

test("the latest step that wrote an artifact wins its name", () => {
  const world = new World({ build: job([step("a"), step("b")]) });
  world.pass();
  world.succeeds("build/a", { artifactRefs: [artifact("x", "first")] });
  world.succeeds("build/b", { artifactRefs: [artifact("x", "second")] });
  expect(world.run.status?.jobs?.build?.artifacts?.x?.location.filesystem?.path).toBe("runs/second/artifacts/x");
});

test("Runtimes without a store in common fail the consumer before its Run exists", () => {
  const world = new World({
    build: job([step("a")]),
    deploy: job([step("b", "true", { artifacts: [{ from: "jobs.build.artifacts.x", path: "x" }] })], {
      needs: ["build"],
      "runs-on": "other",
    }),
  });
  world.addRuntime("other");
  world.pass();
  world.succeeds("build/a", { artifactRefs: [artifact("x")] });
  expect(world.run.status?.jobs?.deploy).toMatchObject({ phase: "Failed", reason: "ArtifactStoreMismatch" });
});

test("a failed step ends its job, skips what needs it, and lets independent jobs go on", () => {
  const world = new World({
    a: job([step("one"), step("two")]),
    b: job([step("one")], { needs: ["a"] }),
    c: job([step("one")], { needs: ["b"] }),
    d: job([step("one")]),
  });
  world.pass();
  world.becomes("a/one", { phase: "Failed", reason: "ExitNonZero", message: "exit code 7", exitCode: 7 });
  expect(world.phases()).toBe("Running, a Failed(Failed Skipped), b Skipped, c Skipped, d Running(Running)");
  world.succeeds("d/one");
  expect(world.run.status).toMatchObject({ phase: "Failed", reason: "JobFailed" });
  expect(world.run.status?.jobs?.a).toMatchObject({ reason: "StepFailed" });
  expect(world.run.status?.jobs?.a?.steps?.[0]).toMatchObject({ reason: "ExitNonZero", exitCode: 7 });
});

test("values of earlier steps and jobs reach a script as environment, never as text", () => {
  const world = new World({
    a: job([step("one"), step("two", 'echo "${{ steps.one.outputs.tag }}"')], {
      outputs: { tag: "${{ steps.one.outputs.tag }}" },
    }),
    b: job([step("show", "echo ${{ needs.a.outputs.tag }}")], { needs: ["a"] }),
  });
  world.pass();
  const evil = "v1; rm -rf / $(reboot)";
  world.succeeds("a/one", { outputs: { tag: evil } });
  const two = world.child("a/two").spec;
  expect(two.source?.inline).not.toContain("rm -rf");
  expect(two.env?.map(({ value }) => value)).toEqual([evil]);
  world.succeeds("a/two");
  expect(world.child("b/show").spec.env?.map(({ value }) => value)).toEqual([evil]);
});

test("an output that is missing at run time fails the step that needs it, by name", () => {
  const world = new World({ a: job([step("one"), step("two", "echo ${{ steps.one.outputs.tag }}")]) });
  world.pass();
  world.succeeds("a/one");
  expect(world.run.status?.jobs?.a?.steps?.[1]).toMatchObject({ phase: "Failed", reason: "ExpressionFailed" });
  expect(world.run.status?.jobs?.a).toMatchObject({ phase: "Failed", reason: "ExpressionFailed" });
});

test("a crash before the children were created is repaired by the next pass", () => {
  const world = new World({ a: job([step("one")]) });
  world.crashBeforeEffects = true;
  world.pass();
  expect(world.created).toEqual([]);
  world.crashBeforeEffects = false;
  world.pass();
  expect(world.created).toHaveLength(2);
  world.succeeds("a/one");
  expect(world.run.status?.phase).toBe("Succeeded");
});

test("a pass that finds nothing new writes nothing and does nothing", () => {
  const world = new World({ a: job([step("one")]) });
  world.pass();
  const { writes } = world;
  expect(world.pass()).toEqual([]);
  expect(world.writes).toBe(writes);
});

test("a child Run that was seen and is deleted is a failed step, not a hang", () => {
  const world = new World({ a: job([step("one")]) });
  world.pass();
  const run = world.child("a/one");
  world.sightings.set(run.metadata.uid ?? "", start);
  world.now = start + 2000;
  world.becomes("a/one", { phase: "Running", attempt: 1, startTime: timestamp(start) });
  expect(world.run.status?.jobs?.a?.steps?.[0]?.startTime).toBe(timestamp(start));
  world.runs.delete(run.metadata.name);
  world.pass();
  expect(world.run.status?.jobs?.a?.steps?.[0]).toMatchObject({ phase: "Failed", reason: "ChildDeleted" });
  expect(world.run.status?.phase).toBe("Failed");
});

const waits: Record<string, { readonly status: Partial<RunStatus>; readonly says: string }> = {
  "a place for its Runtime": {
    status: { reason: "NoReadyPods", message: "Runtime bash has no ready Pod" },
    says: "Runtime bash has no ready Pod",
  },
  "room on the Pod with its files": {
    status: { reason: "InsufficientCapacity", message: "runs 1 does not fit on Pod p of workspace w" },
    says: "the Pod with the files of the job is full",
  },
  "a Pod for its files": {
    status: { reason: "WorkspaceNotBound", message: "workspace w is not bound to a Pod yet" },
    says: "the files of the job have no Pod yet",
  },
  "the Pod with its files to be ready": {
    status: { reason: "WorkspacePodNotReady", message: "Pod p of workspace w is not ready" },
    says: "the Pod with the files of the job is not ready",
  },
};

test.each(Object.entries(waits))(
  "a step that waits for %s says so, and names neither Pod nor workspace",
  (_, { status, says }) => {
    const world = new World({ a: job([step("one")]) });
    world.pass();
    world.becomes("a/one", { phase: "Pending", ...status });
    expect(world.run.status?.jobs?.a?.steps?.[0]).toMatchObject({
      phase: "Running",
      reason: status.reason,
      message: says,
    });
  },
);

test("a step whose Run found its workspace gone says so, and names neither Pod nor workspace", () => {
  const world = new World({ a: job([step("one")]) });
  world.pass();
  const message = "workspace w is not bound to this Pod; its files are gone";
  world.becomes("a/one", { phase: "Failed", attempt: 1, reason: "WorkspaceLost", message });
  expect(world.run.status?.jobs?.a?.steps?.[0]).toMatchObject({
    phase: "Failed",
    reason: "WorkspaceLost",
    message: "the files of the job are not there",
  });
});

test("no Run of a job begins when one of its later steps takes an artifact that is not there", () => {
  const world = new World({
    build: job([step("a")]),
    deploy: job([step("first"), step("then", "true", { artifacts: [{ from: "jobs.build.artifacts.x", path: "x" }] })], {
      needs: ["build"],
    }),
  });
  world.pass();
  world.succeeds("build/a", { artifactRefs: [artifact("y")] });
  expect(world.run.status?.jobs?.deploy).toMatchObject({ phase: "Failed", reason: "ArtifactMissing" });
  expect(world.run.status?.jobs?.deploy?.message).toContain(
    'step "then" takes artifact "x" of job "build", which has y',
  );
  expect([...world.runs.keys()].filter((name) => name.includes("-deploy-"))).toEqual([]);
});

test("a Run of another owner under the name is never adopted: the next name is tried", () => {
  const world = new World({ a: job([step("one")]) });
  world.crashBeforeEffects = true;
  world.pass();
  world.crashBeforeEffects = false;
  const taken = world.run.status?.jobs?.a?.steps?.[0]?.runName ?? "";
  world.runs.set(taken, { kind: "foreign" });
  world.pass();
  const step0 = world.run.status?.jobs?.a?.steps?.[0];
  expect(step0).toMatchObject({ phase: "Running", collision: 1 });
  expect(step0?.runName).not.toBe(taken);
  world.succeeds("a/one");
  expect(world.run.status?.phase).toBe("Succeeded");
});

test("a workspace of another owner under the name is never adopted either", () => {
  const world = new World({ a: job([step("one")]) });
  world.crashBeforeEffects = true;
  world.pass();
  world.crashBeforeEffects = false;
  const probe = new World({ a: job([step("one")]) });
  probe.pass();
  const [name = ""] = probe.workspaces.keys();
  world.workspaces.set(name, { kind: "foreign" });
  world.pass();
  expect(world.run.status?.jobs?.a?.collision).toBe(1);
  expect(world.child("a/one").spec.workspace?.name).not.toBe(name);
});

test.each(["absent", "foreign"] as const)(
  "a workspace that a step has used and is %s now ends the job as lost",
  (kind) => {
    const world = new World({ a: job([step("one"), step("two")]) });
    world.pass();
    world.becomes("a/one", { phase: "Running", attempt: 1 });
    const [name = ""] = world.workspaces.keys();
    world.workspaces.set(name, { kind });
    world.pass();
    expect(world.run.status?.jobs?.a).toMatchObject({ phase: "Running" });
    expect(world.run.status?.jobs?.a?.collision).toBeUndefined();
    expect(world.created.filter((each) => each === name)).toHaveLength(1);
    world.succeeds("a/one");
    world.pass();
    expect(world.run.status?.jobs?.a).toMatchObject({ phase: "Failed", reason: "WorkspaceLost" });
  },
);

test("artifacts beyond what a job may have fail the step that left them, and say how many there are", () => {
  const world = new World({ a: job([step("one"), step("two"), step("three"), step("four")]) });
  world.pass();
  const refs = (from: number) => Array.from({ length: 32 }, (_, n) => artifact(`f${from + n}`));
  world.succeeds("a/one", { artifactRefs: refs(0) });
  world.succeeds("a/two", { artifactRefs: refs(32) });
  world.succeeds("a/three", { artifactRefs: refs(16) });
  expect(Object.keys(world.run.status?.jobs?.a?.artifacts ?? {})).toHaveLength(64);
  world.succeeds("a/four", { artifactRefs: [artifact("one-more")] });
  const failed = world.run.status?.jobs?.a?.steps?.[3];
  expect(failed).toMatchObject({ phase: "Failed", reason: "ArtifactInvalid" });
  expect(failed?.message).toContain("65 artifacts");
  expect(world.run.status?.jobs?.a).toMatchObject({ phase: "Failed", reason: "StepFailed" });
});

test("a child that the API server refuses fails its step with the answer", () => {
  const world = new World({ a: job([step("one")]) });
  world.crashBeforeEffects = true;
  world.pass();
  world.refused.set(world.run.status?.jobs?.a?.steps?.[0]?.runName ?? "", "exceeded quota");
  world.pass();
  expect(world.run.status?.jobs?.a?.steps?.[0]).toMatchObject({ reason: "ChildRefused", message: "exceeded quota" });
});

const bound: PersistentWorkspaceStatus = { phase: "Bound", boundPod: "p", boundPodUID: "u" };
const lost: PersistentWorkspaceStatus = { ...bound, phase: "Lost" };

test("a workspace that is lost before the first claim is replaced, and no attempt is spent", () => {
  const world = new World({ a: job([step("one"), step("two")]) });
  world.pass();
  const before = world.child("a/one");
  const effects = world.workspaceBecomes("a", lost);
  expect(effects.map(({ type }) => type)).toEqual(["createWorkspace", "deleteRun", "createRun"]);
  const after = world.child("a/one");
  expect(after.metadata.name).not.toBe(before.metadata.name);
  expect(after.spec.workspace?.name).not.toBe(before.spec.workspace?.name);
  expect(world.run.status?.jobs?.a).toMatchObject({ phase: "Running", attempt: 1 });
  expect(world.run.status?.jobs?.a?.steps?.[0]).toMatchObject({ attempt: 1 });
});

const gone: Record<string, Found<PersistentWorkspace> | PersistentWorkspaceStatus> = {
  "is being deleted": { ...bound, phase: "Released" },
  "belongs to somebody else now": { kind: "foreign" },
};

function makeGone(world: World, what: Found<PersistentWorkspace> | PersistentWorkspaceStatus): readonly Effect[] {
  if ("phase" in what) return world.workspaceBecomes("a", what);
  for (const name of world.workspaces.keys()) world.workspaces.set(name, what);
  return world.pass();
}

test.each(Object.entries(gone))(
  "a workspace that %s before the first claim is replaced together with its Run",
  (_, what) => {
    const world = new World({ a: job([step("one"), step("two")]) });
    world.pass();
    const before = world.child("a/one");
    makeGone(world, what);
    const after = world.child("a/one");
    expect(after.metadata.name).not.toBe(before.metadata.name);
    expect(after.spec.workspace?.name).not.toBe(before.spec.workspace?.name);
    expect([...world.runs.keys()]).toEqual([after.metadata.name]);
    expect(world.run.status?.jobs?.a).toMatchObject({ phase: "Running", attempt: 1 });
  },
);

test.each(Object.entries({ ...gone, "was deleted": { kind: "absent" } as const }))(
  "a later step does not wait for ever for a workspace that %s",
  (_, what) => {
    const world = new World({ a: job([step("one"), step("two")]) });
    world.pass();
    world.succeeds("a/one");
    makeGone(world, what);
    expect(world.run.status?.jobs?.a).toMatchObject({ phase: "Failed", reason: "WorkspaceLost" });
  },
);

test("a step whose job has no name left for a workspace gets no further Run", () => {
  const world = new World({ a: job([step("one")]) });
  world.pass();
  const run = world.child("a/one").metadata.name;
  const { a } = world.run.status?.jobs ?? {};
  if (a === undefined) throw new Error("no job");
  a.collision = 100;
  const workspace = childWorkspace({
    owner: world.run,
    job: { id: "a", runsOn: "bash" },
    jobAttempt: 1,
    collision: 100,
  });
  world.workspaces.set(workspace.metadata.name, { kind: "ours", object: { ...workspace, status: lost } });
  world.pass();
  expect(world.run.status?.jobs?.a).toMatchObject({ phase: "Stopping", reason: "WorkspaceLost" });
  expect([...world.runs.keys()]).toEqual([run]);
  expect(world.cancelled).toEqual([run]);
});

test("a workspace lost between two steps fails the job", () => {
  const world = new World({ a: job([step("one"), step("two")]) });
  world.pass();
  world.becomes("a/one", { phase: "Running", attempt: 1 });
  world.workspaceBecomes("a", lost);
  expect(world.phases()).toBe("Running, a Running(Running Waiting)");
  world.succeeds("a/one");
  expect(world.run.status?.jobs?.a).toMatchObject({ phase: "Failed", reason: "WorkspaceLost" });
  expect(world.run.status).toMatchObject({ phase: "Failed", reason: "WorkspaceLost" });
});

test("a workspace lost while a later step waits for a place fails the job and ends its Run", () => {
  const world = new World({ a: job([step("one"), step("two")]) });
  world.pass();
  world.succeeds("a/one");
  const waiting = world.child("a/two").metadata.name;
  world.workspaceBecomes("a", lost);
  expect(world.run.status?.jobs?.a).toMatchObject({ phase: "Failed", reason: "WorkspaceLost" });
  const { abandoned } = followUps(world.seen(), world.run.status ?? { phase: "Pending" });
  expect(abandoned.map(({ metadata }) => metadata.name)).toEqual([waiting]);
});

test("the last step may finish although its workspace is lost", () => {
  const world = new World({ a: job([step("one")]) });
  world.pass();
  world.becomes("a/one", { phase: "Running", attempt: 1 });
  world.workspaceBecomes("a", lost);
  world.succeeds("a/one");
  expect(world.run.status?.phase).toBe("Succeeded");
});

test("a job that waits for a place for its files shows as a condition without binding details", () => {
  const world = new World({ a: job([step("one")]) });
  world.pass();
  world.workspaceBecomes("a", {
    phase: "Pending",
    reason: "NoReadyRuntimePods",
    message: "Runtime bash has no ready Pod",
  });
  expect(world.run.status?.conditions).toMatchObject([
    { type: "WorkspaceReady", status: "False", reason: "WorkspaceCapacity" },
  ]);
  world.workspaceBecomes("a", bound);
  expect(world.run.status?.conditions).toMatchObject([{ type: "WorkspaceReady", status: "True" }]);
  expect(JSON.stringify(world.run.status)).not.toMatch(/boundPod|workspace\/persistent/);
});

test("no more jobs run at a time than parallelism allows, and a place that is free is taken in the same pass", () => {
  const world = new World({ a: job([step("one")]), b: job([step("one")]), c: job([step("one")]) }, { parallelism: 2 });
  world.pass();
  expect(world.phases()).toBe("Running, a Running(Running), b Running(Running), c Queued(Waiting)");
  world.succeeds("a/one");
  expect(world.phases()).toBe("Running, a Succeeded(Succeeded), b Running(Running), c Running(Running)");
});

test("a run that is out of time stops what is at work, skips the rest, and ends when nothing runs any more", () => {
  const world = new World(
    { a: job([step("one"), step("two")]), b: job([step("x")], { needs: ["a"] }) },
    { timeout: "10s" },
  );
  world.pass();
  world.now = start + 10_000;
  world.pass();
  expect(world.phases()).toBe("Stopping, a Stopping(Stopping Waiting), b Skipped");
  expect(world.cancelled).toEqual([world.child("a/one").metadata.name]);
  world.becomes("a/one", { phase: "Cancelled", reason: "Cancelled", message: "cancelled" });
  expect(world.phases()).toBe("Failed, a Cancelled(Cancelled Skipped), b Skipped");
  expect(world.run.status).toMatchObject({ reason: "TimedOut" });
});

test("outputs that would burst the status fail the step", () => {
  const jobs = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`j${n}`, job([step("s")])]));
  const world = new World(jobs);
  world.pass();
  const outputs = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`k${n}`, "x".repeat(1000)]));
  for (let n = 0; n < 20; n++) world.succeeds(`j${n}/s`, { outputs });
  expect(JSON.stringify(world.run.status).length).toBeLessThan(768 * 1024);
  expect(world.run.status?.jobs?.j19?.steps?.[0]).toMatchObject({ phase: "Failed", reason: "OutputsTooLarge" });
  expect(world.run.status?.jobs?.j0?.phase).toBe("Succeeded");
});

test("outputs of a Run that failed and do not fit are left out: its failure stays the reason, and the message tells", () => {
  const jobs = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`j${n}`, job([step("s")])]));
  const world = new World(jobs);
  world.pass();
  const outputs = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`k${n}`, "x".repeat(1000)]));
  const failed = { phase: "Failed", reason: "ExitNonZero", message: "exit code 1", exitCode: 1, outputs } as const;
  for (let n = 0; n < 20; n++) world.becomes(`j${n}/s`, failed);
  expect(JSON.stringify(world.run.status).length).toBeLessThan(768 * 1024);
  expect(world.run.status?.jobs?.j0?.steps?.[0]).toMatchObject({ phase: "Failed", message: "exit code 1", outputs });
  const last = world.run.status?.jobs?.j19?.steps?.[0];
  expect(last).toMatchObject({ phase: "Failed", reason: "ExitNonZero", exitCode: 1 });
  expect(last).not.toHaveProperty("outputs");
  expect(last?.message).toMatch(/^exit code 1; the outputs of Run .* do not fit into the status of the WorkflowRun$/);
});

test("what hundreds of steps say of their failures does not burst the status", () => {
  const steps = Array.from({ length: 8 }, (_, n) => step(`s${n}`, "false", { "continue-on-error": true }));
  const world = new World(Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`j${n}`, job(steps)])));
  world.pass();
  const message = `exit code 1: ${"no such file\n".repeat(300)}`;
  for (const { name } of steps) {
    for (const id of Object.keys(world.run.spec.jobs ?? {})) {
      const failed = { phase: "Failed", reason: "ExitNonZero", message, exitCode: 1 } as const;
      world.change(world.child(`${id}/${name}`).metadata.name, (run) => ({ ...run, status: failed }));
    }
    world.pass();
  }
  expect(world.run.status?.phase).toBe("Succeeded");
  expect(JSON.stringify(world.run.status).length).toBeLessThan(780 * 1024);
  expect(world.run.status?.jobs?.j0?.steps?.[0]?.message).toBe(message);
  expect(world.run.status?.jobs?.j39?.steps?.[7]?.message).toMatch(/^exit code 1: no such file\n(.|\n)*…$/);
});

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

test("outputs are measured in bytes, as the API server stores them", () => {
  const world = new World(Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`j${n}`, job([step("s")])])));
  world.pass();
  const outputs = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`k${n}`, "語".repeat(330)]));
  for (let n = 0; n < 20; n++) world.succeeds(`j${n}/s`, { outputs });
  expect(bytesOf(world.run.status)).toBeLessThan(780 * 1024);
  expect(world.run.status?.jobs?.j0?.phase).toBe("Succeeded");
  expect(world.run.status?.jobs?.j19?.steps?.[0]).toMatchObject({ phase: "Failed", reason: "OutputsTooLarge" });
});

test("why a run is stopped stands in its status as a whole once, however many steps it has", () => {
  const steps = Array.from({ length: 40 }, (_, n) => step(`s${n}`));
  const world = new World(Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`j${n}`, job(steps)])));
  world.pass();
  const message = `stopped by WorkflowAction stop-1: ${"理由".repeat(512)}`;
  world.run = { ...world.run, status: { ...world.run.status, phase: "Stopping", reason: "Stopped", message } };
  world.pass();
  for (const found of [...world.runs.values()]) {
    if (found.kind !== "ours") continue;
    const cancelled = { phase: "Cancelled", reason: "Cancelled", message: "cancelled" } as const;
    world.change(found.object.metadata.name, (run) => ({ ...run, status: cancelled }));
  }
  world.pass();
  expect(world.run.status).toMatchObject({ phase: "Failed", reason: "Stopped", message });
  expect(world.run.status?.jobs?.j0?.message).toMatch(/^stopped by WorkflowAction stop-1: 理由.*…$/);
  expect(world.run.status?.jobs?.j0?.steps?.[1]?.message).toMatch(/^stopped by WorkflowAction stop-1: 理由.*…$/);
  expect(bytesOf(world.run.status)).toBeLessThan(650 * 1024);
});

/** Jobs of one small step, whose own outputs are as large as outputs can be. */
const manifold = (more: Partial<JobSpec> = {}) => {
  const outputs = Object.fromEntries(Array.from({ length: 63 }, (_, n) => [`o${n}`, "${{ steps.s.outputs.k }}"]));
  return Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`j${n}`, job([step("s")], { outputs, ...more })]));
};

test("outputs of jobs that would burst the status fail the job", () => {
  const world = new World(manifold());
  world.pass();
  for (let n = 0; n < 20; n++) world.succeeds(`j${n}/s`, { outputs: { k: "x".repeat(1000) } });
  // Reasons and messages have no room of their own.
  expect(JSON.stringify(world.run.status).length).toBeLessThan(780 * 1024);
  expect(world.run.status?.jobs?.j0?.phase).toBe("Succeeded");
  const told = Object.values(world.run.status?.jobs ?? {}).find(({ reason }) => reason === "OutputsTooLarge");
  expect(told).toMatchObject({ phase: "Failed", message: "its outputs do not fit into the status of the WorkflowRun" });
});

test("outputs of a job that failed and do not fit are left out", () => {
  const world = new World(manifold());
  world.pass();
  for (let n = 0; n < 20; n++)
    world.becomes(`j${n}/s`, { phase: "Failed", reason: "ExitNonZero", exitCode: 1, outputs: { k: "x".repeat(1000) } });
  // Reasons and messages have no room of their own.
  expect(JSON.stringify(world.run.status).length).toBeLessThan(780 * 1024);
  expect(world.run.status?.jobs?.j0?.outputs?.o0).toHaveLength(1000);
  expect(world.run.status?.jobs?.j19).toMatchObject({ phase: "Failed", reason: "StepFailed" });
  expect(world.run.status?.jobs?.j19).not.toHaveProperty("outputs");
});

test("an invalid graph fails the run with the path of the field", () => {
  const world = new World({ a: job([step("one")], { needs: ["b"] }) });
  world.pass();
  expect(world.run.status).toMatchObject({ phase: "Failed", reason: "InvalidWorkflow" });
  expect(world.run.status?.message).toContain("spec.jobs.a.needs[0]");
});

test("a pass over 64 jobs of 128 steps takes few milliseconds of CPU", () => {
  const steps = Array.from({ length: 128 }, (_, n) => step(`s${n}`));
  const world = new World(Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`j${n}`, job(steps)])));
  world.pass();
  const seen = world.seen();
  const begun = process.cpuUsage();
  for (let n = 0; n < 10; n++) advance(seen, start);
  const { user, system } = process.cpuUsage(begun);
  expect((user + system) / 1000 / 10).toBeLessThan(50);
});

test("a job that must end does not wait for a Run that cannot be created", () => {
  const world = new World({ a: job([step("one"), step("two")]) }, { timeout: "1m" });
  world.crashBeforeEffects = true;
  world.pass();
  world.runtimes.clear();
  world.now = start + 61_000;
  const effects = world.pass();
  expect(effects.map(({ type }) => type)).not.toContain("createRun");
  world.pass();
  expect(world.run.status).toMatchObject({ phase: "Failed", reason: "TimedOut" });
  expect(world.phases()).toBe("Failed, a Cancelled(Cancelled Skipped)");
});
