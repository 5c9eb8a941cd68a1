import type { ReferenceKind } from "#api/pod-layout.ts";
import { listedIn } from "#api/references.ts";
import { MissingReferenceError, type ReferenceData, type References } from "./port.ts";

/** How long a change takes until a Pod sees it, in words. */
const soon = "a change reaches the Pods after a minute or two";

/** Reads what a Run refers to, each object once, so that all values of one are of one moment. */
export class Lookup {
  readonly #references: References;
  readonly #runtime: string;
  readonly #read = new Map<string, Promise<ReferenceData | undefined>>();

  constructor(references: References, runtime: string) {
    this.#references = references;
    this.#runtime = runtime;
  }

  /**
   * All values of an object; empty when there is no such object.
   * @throws MissingReferenceError when the Runtime does not list it
   */
  async data(kind: ReferenceKind, name: string): Promise<ReferenceData> {
    const key = `${kind}/${name}`;
    const reading = this.#read.get(key) ?? this.#references.read(kind, name);
    this.#read.set(key, reading);
    const data = await reading.catch((error: Error) => {
      throw new MissingReferenceError(`${kind} ${name} cannot be read by the agent: ${error.message}`, {
        cause: error,
      });
    });
    if (data !== undefined) return data;
    throw new MissingReferenceError(
      `${kind} ${name} is not for Runs of Runtime ${this.#runtime}; add it to spec.${listedIn[kind]} of the Runtime`,
    );
  }

  /** @throws MissingReferenceError when there is no such object or key */
  async value(kind: ReferenceKind, name: string, key: string): Promise<Uint8Array> {
    const data = await this.data(kind, name);
    const value = data.get(key);
    if (value !== undefined) return value;
    throw new MissingReferenceError(
      data.size === 0
        ? `there is no ${kind} ${name} with a key ${key}; create it (${soon})`
        : `${kind} ${name} has no key ${key}; add it (${soon})`,
    );
  }
}
