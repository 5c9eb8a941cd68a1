import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import { type Reason, reasons } from "#api/reasons.ts";
import { conditionOf } from "#kube/builtin.ts";
import { labelOf } from "./label.ts";
import type { Wait } from "./view.ts";

/** A wait is shown after this long: a second or two is what Pods need to start. */
export const patienceMs = 5000;

/** The Runs that wait now, with the reason that the scheduler gives. */
export function waitsOf(runs: Iterable<Run>, runtimes: Iterable<Runtime>, many: boolean): Wait[] {
  const byName = new Map([...runtimes].map((runtime) => [keyOf(runtime, runtime.metadata.name), runtime]));
  const waits: Wait[] = [];
  for (const run of runs) {
    const { phase, reason, message } = run.status ?? {};
    if (phase !== "Pending" || reason === undefined) continue;
    const trouble = troubleOf(byName.get(keyOf(run, run.spec.runtime)));
    const sentences = [message, trouble ?? adviceFor(reason)].filter((one) => one !== undefined && one !== "");
    waits.push({ label: labelOf(run, many), reason, text: sentences.join(". ") });
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

/** Remembers since when each wait lasts, so that only the long ones are shown. */
export class Patience {
  readonly #since = new Map<string, number>();

  /**
   * @param now milliseconds of a clock that never goes back
   * @returns the waits to show, and in how many milliseconds the next one will be
   */
  judge(waits: readonly Wait[], now: number): { readonly long: Wait[]; readonly nextMs: number | undefined } {
    const keys = new Set(waits.map(keyOfWait));
    for (const key of this.#since.keys()) if (!keys.has(key)) this.#since.delete(key);
    const long: Wait[] = [];
    let nextMs: number | undefined;
    for (const wait of waits) {
      const since = this.#since.get(keyOfWait(wait)) ?? now;
      this.#since.set(keyOfWait(wait), since);
      const left = since + patienceMs - now;
      if (left <= 0) long.push(wait);
      else nextMs = Math.min(nextMs ?? left, left);
    }
    return { long, nextMs };
  }
}

/** The text may count things that change; the wait is the same. */
const keyOfWait = ({ label, reason }: Wait) => `${label}\n${reason}`;
