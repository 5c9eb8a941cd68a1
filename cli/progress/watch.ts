import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { LogRecord } from "#api/log-record.ts";
import type { KubeObject } from "#api/meta.ts";
import { runs, runtimes, workflowRuns } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { createInformer } from "#kube/informer.ts";
import type { Cancel, Clock, Logger, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import type { UsedRuns } from "#workflows/used-runs.ts";
import type { Created } from "../manifests/apply.ts";
import type { Display } from "./display.ts";
import { labelOf } from "./label.ts";
import { recordText } from "./log-line.ts";
import { Tails } from "./tails.ts";
import { isMany, isOver, type View } from "./view.ts";
import { Patience, waitsOf } from "./waits.ts";

export interface WatchDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly display: Display;
}

/** What a watched execution came to, or had come to when it was left. */
export interface Watched {
  view(): View;
  /** Every Run that was seen, children of WorkflowRuns too. */
  runs(): readonly Run[];
  readonly tails: Tails;
  /** Resolves when everything that is awaited has ended, or was deleted. */
  readonly over: Promise<void>;
  /** Takes a record of output; shows it if `follow` says so. */
  take(record: LogRecord): void;
  /** What has not ended, with why, for messages: `build/test (Running)`, `hello (NoReadyPods: ...)`. */
  unfinished(): string[];
  /** Nothing is watched any more; `take` still works. */
  stop(): Promise<void>;
}

/** Follows what was created, by watches, and shows each change. Resolves when everything there is has been seen. */
export async function watchExecutions(created: Created, follow: boolean, deps: WatchDeps): Promise<Watched> {
  const { client, clock, display } = deps;
  const many = isMany(created);
  const ending = new AbortController();
  const over = Promise.withResolvers<void>();
  const patience = new Patience();
  const tails = new Tails();
  /** The latest version of everything awaited; an object that is deleted keeps its last one. */
  const latest = new Map<string, KubeObject>(
    [...created.workflowRuns, ...created.runs].map((object) => [object.metadata.uid ?? "", object]),
  );
  const deleted = new Set<string>();
  const seenRuns = new Map<string, Run>();
  const runInformer = createInformer(client, runs, deps);
  const workflowRunInformer = createInformer(client, workflowRuns, deps);
  const runtimeInformer = createInformer(client, runtimes, deps);
  let cancelLook: Cancel | undefined;

  /** Those that jobs are: only they have a controller. */
  const usedRuns = (): UsedRuns =>
    new Map(
      [...workflowRunInformer.values()]
        .filter(({ metadata }) => metadata.ownerReferences?.some(({ controller }) => controller === true))
        .map((run) => [run.metadata.name, run]),
    );

  const view = (waits: View["waits"] = []): View => ({
    workflowRuns: created.workflowRuns.map(({ metadata }) => latest.get(metadata.uid ?? "") as WorkflowRun),
    used: usedRuns(),
    runs: created.runs.map(({ metadata }) => latest.get(metadata.uid ?? "") as Run),
    waits,
  });

  const note = (old: KubeObject | undefined, next: KubeObject | undefined) => {
    const uid = (next ?? old)?.metadata.uid ?? "";
    if (latest.has(uid)) {
      if (next === undefined) deleted.add(uid);
      else latest.set(uid, next);
    }
    look();
  };

  function look(): void {
    cancelLook?.();
    const { long, nextMs } = patience.judge(runInformer.values(), clock.monotonic());
    const now = view(waitsOf(long, runtimeInformer.values(), many, usedRuns()));
    display.update(now);
    if (isOver(withoutDeleted(now, deleted))) over.resolve();
    else if (nextMs !== undefined) cancelLook = clock.after(nextMs, look);
  }

  runInformer.onChange((old, next) => {
    if (next !== undefined) seenRuns.set(next.metadata.uid ?? "", next);
    note(old, next);
  });
  workflowRunInformer.onChange(note);
  runtimeInformer.onChange(() => look());
  const informers = [runInformer, workflowRunInformer, runtimeInformer];
  for (const informer of informers) informer.start(ending.signal);
  await Promise.all(informers.map((informer) => informer.whenSynced()));

  return {
    view: () => view(),
    runs: () => [...seenRuns.values()],
    tails,
    over: over.promise,
    take(record) {
      tails.take(record);
      if (!follow) return;
      const run = seenRuns.get(record.run);
      const label = run === undefined ? record.run : labelOf(run, many, usedRuns());
      display.log({ label, stream: record.stream, text: recordText(record) });
    },
    unfinished() {
      const active = [...runInformer.values()].filter(({ status }) => !isTerminal(status?.phase));
      const used = usedRuns();
      const waits = waitsOf(active, runtimeInformer.values(), many, used);
      const steps = active.map((run) => {
        const label = labelOf(run, many, used);
        const wait = waits.find((one) => one.label === label);
        return `${label} (${wait === undefined ? (run.status?.phase ?? "Pending") : `${wait.reason}: ${wait.text}`})`;
      });
      const idle = view().workflowRuns.filter(({ status }) => !hasEnded(status?.phase));
      return steps.length > 0 ? steps : idle.map(({ metadata, status }) => `${metadata.name} (${status?.phase})`);
    },
    async stop() {
      cancelLook?.();
      ending.abort();
      await Promise.all(informers.map((informer) => informer.stopped()));
    },
  };
}

/** What was deleted will not change any more, however it stands. */
function withoutDeleted(view: View, deleted: ReadonlySet<string>): Pick<View, "workflowRuns" | "runs"> {
  const isLeft = ({ metadata }: KubeObject) => !deleted.has(metadata.uid ?? "");
  return { workflowRuns: view.workflowRuns.filter(isLeft), runs: view.runs.filter(isLeft) };
}
