import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run, RunStatus } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import { labels } from "#api/labels.ts";
import { type KubeObject, keyOf } from "#api/meta.ts";
import { isTerminal } from "#api/runs.ts";
import type { Pod, ReplicaSet } from "#kube/builtin.ts";
import { settle } from "#machines/lib/settle.ts";
import { restoreRun, runMachine, runStatus } from "#machines/run.ts";
import { Engine, type Outcome, type Task } from "../engine.ts";
import { newCounters } from "../metrics.ts";
import type { Objects } from "../objects.ts";
import { observe } from "../observe.ts";
import { defaultPlugins } from "../plugins.ts";
import { makeReplicaSet, makeRuntime } from "./builders.ts";

type Listener<T> = (old: T | undefined, next: T | undefined) => void;

/** Objects of one kind: as they are, and as the engine has been told. */
class Kind<T extends KubeObject> {
  readonly truth = new Map<string, T>();
  readonly seen = new Map<string, T>();
  readonly #tell: Listener<T>;
  readonly #shows: (object: T) => boolean;
  readonly #late: string[] = [];

  constructor(tell: Listener<T>, shows: (object: T) => boolean = () => true) {
    this.#tell = tell;
    this.#shows = shows;
  }

  get behind(): number {
    return this.#late.length;
  }

  set(object: T): void {
    this.truth.set(keyOf(object), object);
    this.#late.push(keyOf(object));
  }

  delete(key: string): void {
    this.truth.delete(key);
    this.#late.push(key);
  }

  /** Delivers changes, oldest first. A key shows its latest state: watches may skip what is between. */
  deliver(count = Number.POSITIVE_INFINITY): void {
    for (let i = 0; i < count; i++) {
      const key = this.#late.shift();
      if (key === undefined) return;
      this.show(key);
    }
  }

  /** The engine learns of one object now, as after a write of its own. */
  show(key: string): void {
    const old = this.seen.get(key);
    const object = this.truth.get(key);
    const next = object !== undefined && this.#shows(object) ? object : undefined;
    if (old === next) return;
    if (next === undefined) this.seen.delete(key);
    else this.seen.set(key, next);
    if (old !== undefined && next !== undefined && old.metadata.uid !== next.metadata.uid) {
      this.#tell(old, undefined);
      this.#tell(undefined, next);
    } else this.#tell(old, next);
  }
}

/** An engine with everything around it in memory: time, objects, watches that lag, writes that fail. */
export class FakeCluster {
  time = 0;
  readonly wall = Date.UTC(2026, 0, 1, 12);
  readonly counters = newCounters();
  readonly runs: Kind<Run>;
  readonly runtimes: Kind<Runtime>;
  readonly pods: Kind<Pod>;
  readonly sets: Kind<ReplicaSet>;
  readonly workspaces: Kind<PersistentWorkspace>;
  readonly engine: Engine;
  readonly tasks: Task[] = [];
  #version = 1;

  constructor() {
    const objects: Objects = {
      run: (key) => this.runs.seen.get(key),
      runtime: (key) => this.runtimes.seen.get(key),
      replicaSet: (key) => this.sets.seen.get(key),
      workspace: (key) => this.workspaces.seen.get(key),
      podsOf: (pool) =>
        [...this.pods.seen.values()].filter(
          ({ metadata }) => `${metadata.namespace}/${metadata.labels?.[labels.runtime]}` === pool,
        ),
    };
    const times = { now: () => this.wall + this.time, monotonic: () => this.time };
    const engine = new Engine(objects, defaultPlugins, times, this.counters);
    this.engine = engine;
    this.runs = new Kind<Run>(
      (old, next) => engine.runChanged(old, next),
      (run) => !isTerminal(run.status?.phase),
    );
    this.runtimes = new Kind((old, next) => engine.view.runtimeChanged(old, next));
    this.pods = new Kind((old, next) => engine.view.podChanged(old, next));
    this.sets = new Kind((old, next) => engine.view.replicaSetChanged(old, next));
    this.workspaces = new Kind((old, next) => engine.view.workspaceChanged(old, next));
  }

  /** A Runtime `bash` with its ReplicaSet. */
  withRuntime(resources: Record<string, number> = { runs: 2 }): this {
    this.runtimes.set(makeRuntime("bash", resources));
    this.sets.set(makeReplicaSet());
    this.deliver();
    return this;
  }

  deliver(): void {
    for (const kind of [this.runtimes, this.sets, this.workspaces, this.pods, this.runs]) kind.deliver();
  }

  version(): string {
    return String(++this.#version);
  }

  /** Changes the status of a Run as some other writer does. */
  setStatus(key: string, status: RunStatus): void {
    const run = this.runs.truth.get(key);
    if (run === undefined) return;
    this.runs.set({ ...run, metadata: { ...run.metadata, resourceVersion: this.version() }, status });
  }

  /** Decides all there is to decide; the tasks wait in {@link tasks}. */
  decide(): void {
    for (;;) {
      const task = this.engine.next(true);
      if (task === undefined) return;
      if (task !== "more") this.tasks.push(task);
    }
  }

  /**
   * Carries out a task against the truth.
   * @param fault `lost`: nothing is written; `unseen`: it is written, but the engine learns of it by the watch only
   */
  perform(task: Task, fault?: "lost" | "unseen"): void {
    this.engine.finished(task, this.#write(task, fault));
  }

  #write({ run, intent }: Task, fault: "lost" | "unseen" | undefined): Outcome {
    const { key, uid } = run;
    const known = this.runs.seen.get(key);
    if (known?.metadata.uid !== uid) return { kind: "superseded" };
    const version = known.metadata.resourceVersion;
    const { snapshot, changed } = settle({
      machine: runMachine,
      snapshot: restoreRun(known.status),
      observe: (seen) => observe({ ...known, status: runStatus(seen) }, intent, this.wall + this.time),
    });
    if (!changed) return { kind: "superseded" };
    if (this.runs.truth.get(key)?.metadata.resourceVersion !== version) return { kind: "superseded", version };
    if (fault === "lost") return { kind: "failed" };
    this.setStatus(key, runStatus(snapshot));
    if (fault === "unseen") return { kind: "unseen", version };
    this.runs.show(key);
    return { kind: "written" };
  }

  /** Decides and writes until nothing is left to do, all watches up to date. */
  settle(): void {
    for (let round = 0; round < 1000; round++) {
      this.deliver();
      this.decide();
      const task = this.tasks.shift();
      if (task === undefined) return;
      this.perform(task);
    }
    throw new Error("the engine does not come to rest");
  }

  /** Moves time and lets the engine do what becomes due. */
  elapse(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      this.settle();
      const due = this.engine.nextDue(true);
      if (due === undefined || due > end) break;
      this.time = Math.max(this.time, due);
    }
    this.time = end;
    this.settle();
  }
}
