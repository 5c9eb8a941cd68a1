import { expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { Run, RunSpec } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { Lookups } from "./lookups.ts";
import { runtimeErrors } from "./run-runtime.ts";
import { lookups } from "./testing/objects.ts";

const nothing = lookups({ runtime: async () => undefined });

const lists = (spec: Partial<Runtime["spec"]>): Lookups =>
  lookups({
    runtime: async (namespace, name) => ({
      metadata: { name, namespace },
      spec: { template: { spec: { containers: [{ name: "runtime", image: "debian" }] } }, ...spec },
    }),
  });
const fromSecret: RunSpec["env"] = [
  { name: "A", value: "1" },
  { name: "B", valueFrom: { secretKeyRef: { name: "db", key: "password", optional: true } } },
];

const artifact: ArtifactRef = {
  name: "a",
  driver: "Filesystem",
  type: "File",
  location: { filesystem: { path: "runs/u/artifacts/a", volumeClaimName: "one" } },
  sizeBytes: 1,
  digest: `sha256:${"0".repeat(64)}`,
};

const references: Record<string, { spec: Partial<RunSpec>; lookups: Lookups; refused: string[] }> = {
  "a Secret that the Runtime lists": { spec: { env: fromSecret }, lookups: lists({ secrets: ["db"] }), refused: [] },
  "a Secret that it does not list, even an optional one": {
    spec: { env: fromSecret },
    lookups: lists({ secrets: ["other"], configMaps: ["db"] }),
    refused: ["spec.env[1].valueFrom.secretKeyRef.name"],
  },
  "a ConfigMap that it does not list": {
    spec: { env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } }] },
    lookups: lists({ secrets: ["c"] }),
    refused: ["spec.env[0].valueFrom.configMapKeyRef.name"],
  },
  "credentials that it does not list": {
    spec: { source: { repoURL: "https://example.com/a", credentialsSecretName: "git" } },
    lookups: lists({}),
    refused: ["spec.source.credentialsSecretName"],
  },
  "an artifact of another store": {
    spec: { artifactInputs: [{ ref: artifact, path: "a" }] },
    lookups: lists({ artifactStore: { driver: "Filesystem", filesystem: { volumeClaimName: "two" } } }),
    refused: ["spec.artifactInputs[0].ref"],
  },
  "an artifact of its store": {
    spec: { artifactInputs: [{ ref: artifact, path: "a" }] },
    lookups: lists({ artifactStore: { driver: "Filesystem", filesystem: { volumeClaimName: "one" } } }),
    refused: [],
  },
  "a Runtime that is not there yet": { spec: { env: fromSecret }, lookups: nothing, refused: [] },
};

test.each(Object.entries(references))("a Run may refer to what its Runtime has: %s", async (_, one) => {
  const spec = { runtime: "bash", source: { inline: "true" }, ...one.spec };
  const object: Run = { metadata: { name: "r", namespace: "n" }, spec };
  const errors = await runtimeErrors(object, "n", one.lookups);
  expect(errors.map(({ path }) => path)).toEqual(one.refused);
});
