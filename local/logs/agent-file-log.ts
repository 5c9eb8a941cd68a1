import { linePrefix } from "#api/log-record.ts";
import type { AgentLog, LogBatch, Newest, Position } from "#extension-api/logs/ports.ts";
import type { Cancel } from "#kube/ports.ts";
import { FileLog, type FileLogOptions } from "./line-file.ts";

/** The log of an agent that this machine keeps in a file. */
export class AgentFileLog implements AgentLog {
  readonly podUid: string;
  readonly #file: FileLog;
  readonly #options: FileLogOptions;

  constructor(podUid: string, options: FileLogOptions) {
    this.podUid = podUid;
    this.#options = options;
    this.#file = new FileLog(options);
  }

  async newest(run: string, sinceMs: number): Promise<Newest> {
    const end = await this.#file.end();
    return { end, batches: this.#file.backwards(prefixOf(run), end, sinceMs) };
  }

  async has(position: Position | undefined): Promise<boolean> {
    return position === undefined || this.#file.has(position);
  }

  forwards(run: string, from: Position | undefined): AsyncIterable<LogBatch> {
    return this.#file.forwards(prefixOf(run), from);
  }

  beginsMs(): Promise<number | undefined> {
    return this.#file.beginsMs();
  }

  onGrowth(fn: () => void): Cancel {
    return this.#options.onGrowth(fn);
  }

  async settle(): Promise<boolean> {
    await this.#options.files.pipesDrained();
    return true;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

const prefixOf = (run: string) => Buffer.from(linePrefix(run));
