import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import { Ledger } from "../ledger.ts";
import type { PodView } from "../pod-view.ts";
import type { Slot } from "../slot.ts";
import type { RuntimeView, Snapshot, World } from "../snapshot.ts";
import { takeSnapshot } from "../snapshot.ts";
import type { Workload } from "../workload.ts";
import { makeView } from "./builders.ts";

/** A ledger with Pods of Runtime `bash` and Runs on them: what decisions are made from. */
export class SmallWorld implements World {
  readonly ledger = new Ledger();
  readonly workspaces = new Map<string, PersistentWorkspace>();
  bash: RuntimeView | undefined = { uid: "uid-bash", deleting: false, capacity: { runs: 2 }, references: [] };

  /** @param pods views, or names of Pods with two places */
  constructor(...pods: (PodView | string)[]) {
    for (const pod of pods) this.ledger.setPod(typeof pod === "string" ? makeView(pod) : pod);
  }

  /** Puts active Runs on a Pod. */
  put(pod: string, ...runs: Workload[]): this {
    for (const run of runs) this.ledger.observe(run, 1, `uid-${pod}`);
    return this;
  }

  runtime(_namespace: string, name: string): RuntimeView | undefined {
    return name === "bash" ? this.bash : undefined;
  }

  pool(key: string) {
    return this.ledger.pool(key);
  }

  slot(key: string): Slot | undefined {
    return this.ledger.slot(key);
  }

  workspace(_namespace: string, name: string): PersistentWorkspace | undefined {
    return this.workspaces.get(name);
  }

  pod(name: string): Slot {
    const slot = this.ledger.slot(`ns/uid-${name}`);
    if (slot === undefined) throw new Error(`no Pod ${name}`);
    return slot;
  }

  snapshot(run: Workload): Snapshot {
    return takeSnapshot(run, this);
  }
}
