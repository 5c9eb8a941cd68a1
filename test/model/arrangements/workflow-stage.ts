import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { JobSpec } from "#api/kinds/job.ts";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run, RunStatus } from "#api/kinds/run.ts";
import type { ActionSpec, WorkflowSpec } from "#api/kinds/workflow.ts";
import type { WorkflowActionSpec } from "#api/kinds/workflow-action.ts";
import type { JobStatus, StepStatus, WorkflowRun, WorkflowRunSpec } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { actions, persistentWorkspaces, runs, workflowActions, workflowRuns, workflows } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { createWorkflowRunController } from "#controllers/workflow-run/index.ts";
import type { ResourceType } from "#kube/resource.ts";
import type { AdmissionRequest, FaultRequest } from "#local/apiserver/index.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import { childWorkspaceName } from "#workflows/child-workspace.ts";
import type { Stage } from "./arranged.ts";
import { namespace, Pool } from "./pool.ts";

export const runName = "ci";

export interface WorkflowSurroundings {
  readonly spec: WorkflowRunSpec;
  /** Default true. */
  readonly hasRuntime?: boolean;
  /** Kind of the children that the API server will not have. */
  readonly refuses?: "Run" | "PersistentWorkspace" | "WorkflowRun";
  /** With every job that ends, at the same moment, comes an action that is refused. */
  readonly comesWithAction?: true;
  /** Templates that are there from the beginning, by name. */
  readonly workflows?: Readonly<Record<string, WorkflowSpec>>;
  readonly actions?: Readonly<Record<string, ActionSpec>>;
  /** Of the Workflow that is referred to. */
  readonly outputs?: WorkflowSpec["outputs"];
  /** Requests that are lost on their way; by default none. */
  readonly loses?: (request: FaultRequest) => boolean;
}

/** A step that succeeds in whatever way the arrangements say. */
export const step = (name: string, run = "true") => ({ name, run });

export function job(steps: readonly NonNullable<JobSpec["steps"]>[number][], more: Partial<JobSpec> = {}): JobSpec {
  return { "runs-on": "bash", steps: [...steps], ...more };
}

function stepIn({ steps }: JobStatus, path: string): StepStatus | undefined {
  const [name, inner] = path.split("/");
  const found = steps?.find((each) => each.name === name);
  return inner === undefined ? found : found?.steps?.find((each) => each.name === inner);
}

/**
 * One WorkflowRun under its real controller. Its children have nobody: what becomes of Runs and workspaces is written by
 * the arrangements, as scheduler, agent and binder would.
 */
export class WorkflowStage implements Stage {
  readonly plane: ControlPlane;
  readonly pool: Pool;
  readonly surroundings: WorkflowSurroundings;
  /** Requests that are lost on their way from now on. */
  loses: (request: FaultRequest) => boolean;
  /** Kind of the children that are refused from now on. */
  refuses: string | undefined;
  readonly #stateOf: (run: WorkflowRun) => string | undefined;
  #asked = 0;

  constructor(surroundings: WorkflowSurroundings, stateOf: (run: WorkflowRun) => string | undefined) {
    const { loses = () => false, refuses } = surroundings;
    this.surroundings = surroundings;
    this.loses = loses;
    this.refuses = refuses;
    this.#stateOf = stateOf;
    this.plane = new ControlPlane([(request) => this.#admit(request)]);
    this.plane.api.faults.onRequest = (request) => (this.loses(request) ? { kind: "internal" } : undefined);
    this.pool = new Pool(this.plane.client);
  }

  #admit({ operation, kind }: AdmissionRequest) {
    return operation === "CREATE" && kind === this.refuses
      ? [{ message: "the quota is used up", code: 403 as const }]
      : [];
  }

  async start(): Promise<void> {
    if (this.surroundings.hasRuntime !== false) {
      await this.pool.createRuntime({
        artifactStore: { driver: "Filesystem", filesystem: { volumeClaimName: "store" } },
      });
    }
    const { workflows: flows = {}, actions: steps = {} } = this.surroundings;
    for (const [name, spec] of Object.entries(flows)) {
      await this.plane.create(workflows, { metadata: { name, namespace }, spec });
    }
    for (const [name, spec] of Object.entries(steps)) {
      await this.plane.create(actions, { metadata: { name, namespace }, spec });
    }
    await this.plane.start((deps, informers) => [
      createWorkflowRunController(deps, informers, { workspaceTtlSeconds: 3600 }),
    ]);
  }

  /** The subject, made by the first arrangement that needs it. */
  async exists(): Promise<void> {
    if ((await this.read()) !== undefined) return;
    await this.plane.create(workflowRuns, { metadata: { name: runName, namespace }, spec: this.surroundings.spec });
  }

  read(): Promise<WorkflowRun | undefined> {
    return this.plane.find(workflowRuns, runName);
  }

  async subject(): Promise<WorkflowRun> {
    const run = await this.read();
    if (run === undefined) throw new Error("there is no WorkflowRun yet");
    return run;
  }

  async job(id: string): Promise<JobStatus> {
    return (await this.subject()).status?.jobs?.[id] ?? { phase: "Waiting" };
  }

  /** @param name of a step of the job, or `step/inner` of the Action that it uses */
  async step(id: string, name: string): Promise<StepStatus> {
    const found = stepIn(await this.job(id), name);
    if (found === undefined) throw new Error(`job ${id} has no step ${name}`);
    return found;
  }

  async child(id: string, name: string): Promise<Run> {
    return this.plane.client.of(runs).get({ name: (await this.step(id, name)).runName ?? "", namespace });
  }

  /** Waits until the child Run of a step exists. */
  async hasChild(id: string, name: string): Promise<void> {
    await this.until(async () => {
      const found = stepIn(await this.job(id), name)?.runName;
      const run = found === undefined ? undefined : await this.plane.find(runs, found);
      return run?.metadata.ownerReferences !== undefined; // not somebody else's
    });
  }

  async setRun(id: string, name: string, status: Partial<RunStatus> & Pick<RunStatus, "phase">): Promise<void> {
    await this.hasChild(id, name);
    const run = await this.child(id, name);
    const ended = ["Succeeded", "Failed", "Timeout", "Cancelled"].includes(status.phase);
    const completionTime = timestamp(this.plane.clock.now());
    await this.plane.client
      .of(runs)
      .update({ ...run, status: { ...run.status, ...(ended && { completionTime }), ...status } }, "status");
  }

  /** Somebody asks for something. */
  async ask(action: string, more: Partial<WorkflowActionSpec> = {}): Promise<void> {
    const metadata = { name: `${action.toLowerCase()}-${++this.#asked}`, namespace };
    await this.plane.create(workflowActions, {
      metadata,
      spec: { workflowRef: { name: runName }, action, ...more },
    });
  }

  /** Changes `spec.suspend`. */
  async setSuspend(suspend: boolean): Promise<void> {
    const run = await this.subject();
    if ((run.spec.suspend ?? false) === suspend) return;
    await this.plane.client.of(workflowRuns).patch({ name: runName, namespace }, { spec: { suspend } });
  }

  /** A job of one step ends well, and an action comes that is refused; the controller sees both at once. */
  async together(id: string): Promise<void> {
    await this.hasChild(id, "test");
    // Until the action can be read, no pass gets anywhere.
    this.loses = ({ verb, resource }) => verb === "get" && resource.startsWith("workflowactions");
    await this.ask("Skip");
    await this.succeed(id, "test");
    await this.plane.settle();
    this.loses = () => false;
  }

  /** A Pod takes the Run. */
  claim(id: string, name: string): Promise<void> {
    return this.setRun(id, name, { phase: "Running", attempt: 1, startTime: timestamp(this.plane.clock.now()) });
  }

  succeed(id: string, name: string, more: Partial<RunStatus> = {}): Promise<void> {
    return this.setRun(id, name, { phase: "Succeeded", attempt: 1, exitCode: 0, ...more });
  }

  fail(id: string, name: string): Promise<void> {
    return this.setRun(id, name, { phase: "Failed", attempt: 1, exitCode: 3, reason: "ExitNonZero", message: "no" });
  }

  cancelled(id: string, name: string): Promise<void> {
    return this.setRun(id, name, { phase: "Cancelled", reason: "Cancelled", message: "asked for" });
  }

  /** Name of the workspace of the current attempt of a job. */
  async workspaceName(id: string): Promise<string> {
    const { attempt = 1, collision = 0 } = await this.job(id);
    return childWorkspaceName({
      owner: await this.subject(),
      job: { id },
      jobAttempt: attempt,
      collision,
    });
  }

  async hasWorkspace(id: string): Promise<void> {
    await this.until(
      async () => (await this.plane.find(persistentWorkspaces, await this.workspaceName(id))) !== undefined,
    );
  }

  async setWorkspace(id: string, status: NonNullable<PersistentWorkspace["status"]>): Promise<void> {
    await this.hasWorkspace(id);
    const name = await this.workspaceName(id);
    await this.plane.client.of(persistentWorkspaces).patch({ name, namespace }, { status }, { subresource: "status" });
  }

  loseWorkspace(id: string): Promise<void> {
    return this.setWorkspace(id, { phase: "Lost", boundPod: "p", boundPodUID: "u" });
  }

  /** Somebody else's object takes the name of a child, before the controller learns that the child is gone. */
  async usurp<T extends KubeObject>(
    resource: ResourceType<T>,
    name: string,
    spec: object = { runtime: "bash", source: { inline: "true" } },
  ): Promise<void> {
    const { faults } = this.plane.api;
    faults.onWatchEvent = () => ({ delayMs: 100 });
    const client = this.plane.client.of(resource);
    await this.#removeChild(resource, name);
    await client.create({ metadata: { name, namespace }, spec } as unknown as T);
    faults.onWatchEvent = undefined;
  }

  async deleteChild<T extends KubeObject>(resource: ResourceType<T>, name: string): Promise<void> {
    await this.#removeChild(resource, name);
    await this.until(() => true);
  }

  /** Nobody here cleans workspaces up, so that their finalizer goes by force. */
  async #removeChild<T extends KubeObject>(resource: ResourceType<T>, name: string): Promise<void> {
    const client = this.plane.client.of(resource);
    await client.patch({ name, namespace }, { metadata: { finalizers: null } });
    await client.delete({ name, namespace });
  }

  /** The status as if all names of a job, or of a step, had been tried. */
  async useUpNames(id: string, stepName?: string): Promise<void> {
    const run = await this.subject();
    const old = await this.job(id);
    const steps = old.steps?.map((each) => (each.name === stepName ? { ...each, collision: 100 } : each));
    const changed: JobStatus =
      stepName === undefined ? { ...old, collision: 100 } : { ...old, ...(steps && { steps }) };
    const status = {
      ...run.status,
      phase: run.status?.phase ?? "Pending",
      jobs: { ...run.status?.jobs, [id]: changed },
    };
    await this.plane.client.of(workflowRuns).update({ ...run, status }, "status");
  }

  until(holds: () => boolean | Promise<boolean>, ms?: number): Promise<void> {
    return this.plane.until(holds, ms);
  }

  async state(): Promise<string | undefined> {
    const run = await this.read();
    return run && this.#stateOf(run);
  }

  stop(): void {
    this.plane.stop();
  }
}

export function artifact(name: string): ArtifactRef {
  return {
    name,
    driver: "Filesystem",
    type: "File",
    location: { filesystem: { path: `runs/producer/artifacts/${name}` } },
    sizeBytes: 1,
    digest: `sha256:${"0".repeat(64)}`,
  };
}
