import type { Run } from "#api/kinds/run.ts";
import { parseTime } from "#api/time.ts";
import type { Cancel } from "#kube/ports.ts";
import { runKey } from "./cursor.ts";
import type { Runs } from "./ports.ts";
import { isOver, type Segment, segmentsOf } from "./segments.ts";

/** Clocks of API server and nodes may differ by this much, in milliseconds. */
export const clockSkewMs = 60_000;

/** The clock of a node, by which agents tell starts and logs are stored, goes back by no more than this, in milliseconds. */
const sameClockMs = 1000;

/** One Run as the reader of its log sees it; kept up to date while {@link follow}ed. */
export class RunView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Tells the Run apart in cursors. */
  readonly key: string;
  readonly #oldestMs: number;
  readonly #only: number | undefined;
  #run: Run;
  #deleted = false;

  /** @param only the attempt that is asked for */
  constructor(run: Run, only: number | undefined) {
    this.namespace = run.metadata.namespace ?? "";
    this.name = run.metadata.name;
    this.uid = run.metadata.uid ?? "";
    this.key = runKey(this.uid);
    this.#oldestMs = (parseTime(run.metadata.creationTimestamp) ?? 0) - clockSkewMs;
    this.#run = run;
    this.#only = only;
  }

  get deleted(): boolean {
    return this.#deleted;
  }

  get segments(): readonly Segment[] {
    return segmentsOf(this.#run, this.#only);
  }

  /** No record will be printed any more. */
  get over(): boolean {
    return this.#deleted || isOver(this.#run, this.#only);
  }

  /** Whether the Pod may still print records of the segment. */
  isOpen(segment: Segment): boolean {
    return segment.assigned && !this.over;
  }

  /** Nothing of the segment is older, in milliseconds since the epoch. Asking for it saves reading what others printed before. */
  oldestOf({ startedMs }: Segment): number {
    return startedMs === undefined ? this.#oldestMs : Math.max(this.#oldestMs, startedMs - sameClockMs);
  }

  /** Takes every change from now on, until the Run is over. */
  follow(runs: Runs, onChange: () => void): Cancel {
    if (this.over) return () => {};
    return runs.observe(this.namespace, this.name, (run) => {
      if (this.over) return;
      if (run === undefined || run.metadata.uid !== this.uid) this.#deleted = true;
      else this.#run = run;
      onChange();
    });
  }
}
