import type { ReferenceKind } from "#api/pod-layout.ts";
import type { References } from "./port.ts";

/** {@link References} as data, for the simulation and for tests. */
export class MemoryReferences implements References {
  readonly #objects = new Map<string, ReadonlyMap<string, Uint8Array>>();

  /** Lists an object; without data there is none of that name. */
  put(kind: ReferenceKind, name: string, data: Readonly<Record<string, string | Uint8Array>> = {}): void {
    const values = Object.entries(data).map(([key, value]) => [key, Buffer.from(value as string)] as const);
    this.#objects.set(`${kind}/${name}`, new Map(values));
  }

  async read(kind: ReferenceKind, name: string): Promise<ReadonlyMap<string, Uint8Array> | undefined> {
    return this.#objects.get(`${kind}/${name}`);
  }
}
