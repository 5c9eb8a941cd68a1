import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { labels } from "#api/labels.ts";
import { workflowRuns } from "#api/resources.ts";
import { createInformer, type Informer } from "#kube/informer.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { StatusError } from "#kube/transport.ts";
import type { UsedRuns } from "#workflows/used-runs.ts";
import { maxLevels } from "#workflows/uses.ts";
import type { Session } from "./session.ts";

/** Whether a job of it is another WorkflowRun now. */
export const usesWorkflows = ({ status }: WorkflowRun): boolean =>
  Object.values(status?.jobs ?? {}).some(({ workflowRunName }) => workflowRunName !== undefined);

/** Selects what a WorkflowRun has made. */
export const childrenOf = ({ metadata }: WorkflowRun): string => `${labels.workflowRunUID}=${metadata.uid ?? ""}`;

/** The WorkflowRuns that jobs of a run, and theirs, are now. Who may not list WorkflowRuns sees none. */
export async function readUsedRuns(run: WorkflowRun, session: Session): Promise<UsedRuns> {
  const { client, namespace } = session;
  const used = new Map<string, WorkflowRun>();
  let parents = [run].filter(usesWorkflows);
  for (let level = 1; level < maxLevels && parents.length > 0; level++) {
    const lists = await Promise.all(
      parents.map((parent) => client.of(workflowRuns).list({ namespace, labelSelector: childrenOf(parent) })),
    ).catch((error: unknown) => {
      if (error instanceof StatusError && error.code === 403) return [];
      throw error;
    });
    const found = lists.flatMap(({ items }) => items);
    for (const child of found) used.set(child.metadata.name, child);
    parents = found.filter(usesWorkflows);
  }
  return used;
}

/** Keeps an eye on the WorkflowRuns that jobs of a run, and theirs, are: one watch for each run that uses Workflows. */
export class UsedRunsWatch {
  readonly #session: Session;
  readonly #onChange: () => void;
  readonly #ending = new AbortController();
  readonly #informers = new Map<string, Informer<WorkflowRun>>();

  constructor(session: Session, onChange: () => void) {
    this.#session = session;
    this.#onChange = onChange;
  }

  /** The run as it is now: whether there is something to watch below it. */
  see(run: WorkflowRun, level = 1): void {
    const { uid = "" } = run.metadata;
    if (level >= maxLevels || !usesWorkflows(run) || this.#informers.has(uid) || this.#ending.signal.aborted) return;
    const { client, namespace, env } = this.#session;
    const { clock, random } = env;
    const options = { clock, random, logger: silentLogger, namespace, labelSelector: childrenOf(run) };
    const informer: Informer<WorkflowRun> = createInformer(client, workflowRuns, options);
    this.#informers.set(uid, informer);
    informer.onChange((_, next) => {
      if (next !== undefined) this.see(next, level + 1);
      this.#onChange();
    });
    informer.start(this.#ending.signal);
  }

  runs(): UsedRuns {
    const all = [...this.#informers.values()].flatMap((informer) => [...informer.values()]);
    return new Map(all.map((run) => [run.metadata.name, run]));
  }

  stop(): void {
    this.#ending.abort();
  }
}
