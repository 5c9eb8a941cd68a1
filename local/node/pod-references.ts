import type { ReferenceKind } from "#api/pod-layout.ts";
import type { ConfigMap, Secret } from "#kube/builtin.ts";

/** A Secret or ConfigMap that a Pod mounts, and the directory that stands for the volume. */
export interface MountedReference {
  readonly kind: ReferenceKind;
  readonly name: string;
  readonly directory: string;
}

/** What of the node this needs. */
export interface ReferencePorts {
  /** Replaces all values of a directory at once. */
  publish(directory: string, values: ReadonlyMap<string, Uint8Array>): void;
  find(kind: ReferenceKind, namespace: string, name: string): Secret | ConfigMap | undefined;
}

/** Keeps the volumes of Secrets and ConfigMaps as these are now; an object that is not there is an empty directory. */
export class PodReferences {
  readonly #ports: ReferencePorts;
  /** Version that is in a directory. */
  readonly #published = new Map<string, string>();

  constructor(ports: ReferencePorts) {
    this.#ports = ports;
  }

  /** @throws an error of the disk; what was there before stays, and the next call tries again */
  publish(namespace: string, references: readonly MountedReference[]): void {
    for (const { kind, name, directory } of references) {
      const object = this.#ports.find(kind, namespace, name);
      const { uid = "none", resourceVersion = "" } = object?.metadata ?? {};
      const version = `${uid}/${resourceVersion}`;
      if (this.#published.get(directory) === version) continue;
      this.#ports.publish(directory, valuesOf(kind, object));
      this.#published.set(directory, version);
    }
  }

  /** The directories are removed by somebody else. */
  forget(references: readonly MountedReference[]): void {
    for (const { directory } of references) this.#published.delete(directory);
  }
}

/** In a Secret all values are base64; a ConfigMap has those apart that are no text. */
function valuesOf(kind: ReferenceKind, object: (Secret & ConfigMap) | undefined): Map<string, Uint8Array> {
  const { data = {}, binaryData = {} } = object ?? {};
  const decode = (value: string, encoding: "base64" | "utf8") => Buffer.from(value, encoding);
  return new Map([
    ...Object.entries(data).map(([key, value]) => [key, decode(value, kind === "Secret" ? "base64" : "utf8")] as const),
    ...Object.entries(binaryData).map(([key, value]) => [key, decode(value, "base64")] as const),
  ]);
}
