import { notYet, type Unsupported } from "./entry.ts";

const runtime = (path: string, advice: string, when?: Unsupported["when"]): Unsupported => ({
  kind: "Runtime",
  path: `spec.${path}`,
  message: notYet,
  advice,
  ...(when === undefined ? {} : { when }),
});

export const runtimeEntries: readonly Unsupported[] = [
  runtime("server.type", "Use Injected, which works in any image.", (value) => value === "Custom"),
  runtime("artifactStore.driver", "Use Filesystem with filesystem.volumeClaimName.", (value) => value === "S3"),
];
