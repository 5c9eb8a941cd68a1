import type { LogItem } from "#extension-api/client/logs.ts";
import type { Cancel } from "#kube/ports.ts";
import type { Environment, Output } from "../environment.ts";

/** Characters after which a piece is written at once. */
const enough = 64 * 1024;

/**
 * Writes what a Run wrote where it wrote it, byte for byte; words of the platform go to standard error. Lines that come together go
 * out together, in their order over both streams: a write for each would take most of the time.
 */
export class ItemWriter implements Disposable {
  readonly #env: Pick<Environment, "out" | "err" | "clock">;
  readonly #timestamps: boolean;
  #output: Output | undefined;
  #text = "";
  #cancelFlush: Cancel | undefined;

  /** @param timestamps whether each line begins with its time */
  constructor(env: Pick<Environment, "out" | "err" | "clock">, timestamps = false) {
    this.#env = env;
    this.#timestamps = timestamps;
  }

  write(item: LogItem): void {
    const { out, err } = this.#env;
    const before = this.#timestamps ? `${item.time} ` : "";
    const end = item.partial ? "" : "\n";
    if (item.stream === "system") this.#put(err, `${before}* ${item.message}\n`);
    else if (item.encoding === undefined) this.#put(item.stream === "stderr" ? err : out, before + item.message + end);
    else {
      this.flush();
      const bytes = Buffer.from(item.message, "base64");
      (item.stream === "stderr" ? err : out).write(Buffer.concat([Buffer.from(before), bytes, Buffer.from(end)]));
    }
  }

  /** Writes what waits. */
  flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    if (this.#text !== "") this.#output?.write(this.#text);
    this.#text = "";
  }

  [Symbol.dispose](): void {
    this.flush();
  }

  #put(output: Output, text: string): void {
    if (output !== this.#output) this.flush();
    this.#output = output;
    this.#text += text;
    if (this.#text.length >= enough) this.flush();
    else this.#cancelFlush ??= this.#env.clock.after(0, () => this.flush());
  }
}
