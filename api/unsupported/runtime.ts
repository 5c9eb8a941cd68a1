import { notYet, type Unsupported } from "./entry.ts";

const runtime = (path: string, advice: string, when?: Unsupported["when"]): Unsupported => ({
  kind: "Runtime",
  path: `spec.${path}`,
  message: notYet,
  advice,
  ...(when === undefined ? {} : { when }),
});

const notEmpty = (value: unknown) => Array.isArray(value) && value.length > 0;

export const runtimeEntries: readonly Unsupported[] = [
  runtime("server.type", "Use Injected, which works in any image.", (value) => value === "Custom"),
  runtime("artifactStore.driver", "Use Filesystem with filesystem.volumeClaimName.", (value) => value === "S3"),
  runtime("secrets", "Give the container `runtime` what it needs in spec.template.", notEmpty),
  runtime("configMaps", "Give the container `runtime` what it needs in spec.template.", notEmpty),
];
