import type { RuntimeSpec } from "#api/kinds/runtime.ts";
import { type ReferenceKind, referencePaths } from "#api/pod-layout.ts";
import { listedIn } from "#api/references.ts";
import type { Volume, VolumeMount } from "#kube/builtin.ts";

interface Mounted {
  readonly volume: Volume;
  readonly mount: VolumeMount;
}

/** Readable for the group of the Pod, which the agent has; nobody else mounts it. */
const mode = 0o440;

/**
 * The Secrets and ConfigMaps that Runs may refer to, each a volume of its own: a projected volume with all of them would
 * have to name their keys. They are optional, so that a Pod starts without them and follows when they come.
 */
export function references(spec: Pick<RuntimeSpec, "secrets" | "configMaps">): readonly Mounted[] {
  return (["Secret", "ConfigMap"] as const).flatMap((kind) =>
    // In order, so that the same list in another order is the same template.
    [...(spec[listedIn[kind]] ?? [])].sort().map((name, index) => mounted(kind, name, index)),
  );
}

function mounted(kind: ReferenceKind, name: string, index: number): Mounted {
  // Names of volumes are shorter than those of Secrets.
  const volume = `kruntimes-${kind.toLowerCase()}-${index}`;
  const rest = { optional: true, defaultMode: mode };
  return {
    volume:
      kind === "Secret"
        ? { name: volume, secret: { secretName: name, ...rest } }
        : { name: volume, configMap: { name, ...rest } },
    mount: { name: volume, mountPath: `${referencePaths.root}/${referencePaths[kind]}/${name}`, readOnly: true },
  };
}
