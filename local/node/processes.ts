/** The port through which the node starts and ends the processes of Pods; `system-processes.ts` is the real one. */
export interface Processes {
  /** Starts one process in a group of its own. Its standard output goes to `onOutput` in whole lines. */
  start(request: StartRequest): Process;
  /**
   * Ends every process that carries the Pod's mark in its environment, and resolves when they are gone.
   * @param except process ids that are left alone
   */
  endPod(podUid: string, except?: ReadonlySet<number>): Promise<void>;
}

export interface StartRequest {
  readonly podUid: string;
  /** Arguments of the `kruntimes` entry. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
  /** File that standard error is appended to. */
  readonly errorLog: string;
  /** Gets standard output: one or more whole lines with their ends. */
  readonly onOutput: (lines: Uint8Array) => void;
  /** Gets messages that the process sends about itself, e.g. its readiness. */
  readonly onMessage: (message: unknown) => void;
}

export interface Process {
  readonly pid: number;
  /** Resolves with a text for people, e.g. `exit code 1` or `signal SIGKILL`; never rejects. */
  readonly ended: Promise<string>;
  signal(name: "SIGTERM" | "SIGKILL"): void;
}

/** Marks all processes of a Pod, children of children too. Users cannot set it: its prefix is reserved. */
export const podMark = "KRUNTIME_POD_UID";
