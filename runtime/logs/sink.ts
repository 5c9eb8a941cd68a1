import type { LogRecord } from "#api/log-record.ts";

/** Where the agent's log records go. One sink serves all Runs of a Pod, so records of one call stay together, in order. */
export interface LogSink {
  /**
   * Takes the records. The promise resolves when there is room for more: whoever waits for it passes the pressure on to the
   * Run, whose pipe then fills, instead of losing output. Rejects when the sink is gone for good.
   */
  write(records: readonly LogRecord[]): Promise<void>;
  /** Resolves when everything that was taken has left this process. A sink that holds nothing back has no such method. */
  flush?(): Promise<void>;
}
