import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { type Reason, reasons } from "#api/reasons.ts";
import { conditionOf } from "#kube/builtin.ts";
import { lackOf } from "#workflows/tree-model.ts";
import type { UsedRuns } from "#workflows/used-runs.ts";
import { labelOf } from "./label.ts";
import type { Wait } from "./view.ts";

/** A wait is shown after this long: a second or two is what Pods need to start. */
export const patienceMs = 5000;

/** Whether a Run waits to be placed, whether or not the scheduler has said why. */
export const isWaiting = ({ status }: Run): boolean => (status?.phase ?? "Pending") === "Pending";

/** The Runs that wait now, with the reason that the scheduler gives. It gives some only after a while. */
export function waitsOf(runs: Iterable<Run>, runtimes: Iterable<Runtime>, many: boolean, used?: UsedRuns): Wait[] {
  const byName = new Map([...runtimes].map((runtime) => [keyOf(runtime, runtime.metadata.name), runtime]));
  const waits: Wait[] = [];
  for (const run of runs) {
    const { reason, message } = run.status ?? {};
    if (!isWaiting(run) || reason === undefined) continue;
    const trouble = troubleOf(byName.get(keyOf(run, run.spec.runtime)));
    const sentences = [message, trouble ?? adviceFor(reason)].filter((one) => one !== undefined && one !== "");
    waits.push({ label: labelOf(run, many, used), reason, text: sentences.join(". ") });
  }
  return waits;
}

const keyOf = ({ metadata }: Run | Runtime, name: string) => `${metadata.namespace}/${name}`;

/** Why the Pods of a Runtime do not get ready, where the Runtime knows. */
function troubleOf(runtime: Runtime | undefined): string | undefined {
  const degraded = conditionOf(runtime?.status?.conditions, "Degraded");
  return degraded?.status === "True" ? degraded.message : undefined;
}

function adviceFor(reason: string): string | undefined {
  return Object.hasOwn(reasons, reason) ? reasons[reason as Reason].advice : undefined;
}

/** Remembers since when each Run waits, so that only the long waits are shown. */
export class Patience {
  readonly #since = new Map<string, number>();

  /**
   * @param runs all Runs there are
   * @param now milliseconds of a clock that never goes back
   * @returns the Runs that have waited for long, and in how many milliseconds the next one will have
   */
  judge(runs: Iterable<Run>, now: number): { readonly long: Run[]; readonly nextMs: number | undefined } {
    const waiting = new Map([...runs].filter(isWaiting).map((run) => [run.metadata.uid ?? "", run]));
    for (const uid of this.#since.keys()) if (!waiting.has(uid)) this.#since.delete(uid);
    const long: Run[] = [];
    let nextMs: number | undefined;
    for (const [uid, run] of waiting) {
      const since = this.#since.get(uid) ?? now;
      this.#since.set(uid, since);
      const left = since + patienceMs - now;
      if (left <= 0) long.push(run);
      else nextMs = Math.min(nextMs ?? left, left);
    }
    return { long, nextMs };
  }
}

/** What a WorkflowRun lacks to go on, in the words of its condition. */
export function lacksOf(run: WorkflowRun): Wait[] {
  const lack = lackOf(run);
  return lack === undefined ? [] : [{ label: run.metadata.name, reason: lack.reason, text: lack.message }];
}
