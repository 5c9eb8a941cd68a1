import { expect, test } from "vitest";
import type { Runtime, RuntimeSpec } from "../kinds/runtime.ts";
import { validateCreate, validateUpdate } from "./index.ts";

const container = { name: "runtime", image: "python:3.13-slim" };
const runtime = (spec: Partial<RuntimeSpec> = {}, name = "python"): Runtime => ({
  metadata: { name },
  spec: { template: { spec: { containers: [container] } }, ...spec },
});
const pod = (fields: object): Partial<RuntimeSpec> => ({ template: { spec: { containers: [container], ...fields } } });
const first = (fields: object): Partial<RuntimeSpec> => ({
  template: { spec: { containers: [{ ...container, ...fields }] } },
});
const spec = "spec.template.spec";

const cases: Record<string, { object: Runtime; refused: string[] }> = {
  "an image is enough": { object: runtime(), refused: [] },
  "sidecars, volumes and limits of the user's own": {
    object: runtime(
      pod({
        containers: [
          { ...container, volumeMounts: [{ name: "cache", mountPath: "/cache" }], env: [{ name: "A", value: "1" }] },
          { name: "proxy", image: "envoy" },
        ],
        initContainers: [{ name: "fetch", image: "curl" }],
        volumes: [{ name: "cache", emptyDir: {} }],
        securityContext: { runAsUser: 1000 },
        restartPolicy: "Always",
        hostNetwork: false,
      }),
    ),
    refused: [],
  },
  "another first container": {
    object: runtime({ template: { spec: { containers: [{ name: "main", image: "x" }, container] } } }),
    refused: [`${spec}.containers[0].name`],
  },
  "no image": {
    object: runtime({ template: { spec: { containers: [{ name: "runtime" }] } } }),
    refused: [`${spec}.containers[0].image`],
  },
  "a second container named runtime": {
    object: runtime(pod({ containers: [container, container] })),
    refused: [`${spec}.containers[1].name`],
  },
  "a container named like the agent": {
    object: runtime(pod({ containers: [container, { name: "runtimed", image: "x" }] })),
    refused: [`${spec}.containers[1].name`],
  },
  "an init container named like the injector": {
    object: runtime(pod({ initContainers: [{ name: "kruntimes-injector", image: "x" }] })),
    refused: [`${spec}.initContainers[0].name`],
  },
  "a command of its own": {
    object: runtime(first({ command: ["sleep"], args: ["1"] })),
    refused: [`${spec}.containers[0].command`, `${spec}.containers[0].args`],
  },
  "a preStop hook": {
    object: runtime(first({ lifecycle: { preStop: { exec: { command: ["true"] } } } })),
    refused: [`${spec}.containers[0].lifecycle.preStop`],
  },
  "a user for one container": {
    object: runtime(first({ securityContext: { runAsUser: 0 } })),
    refused: [`${spec}.containers[0].securityContext.runAsUser`],
  },
  "a variable of ours": {
    object: runtime(
      first({
        env: [
          { name: "A", value: "" },
          { name: "KRUNTIME_OUTPUTS", value: "/x" },
        ],
      }),
    ),
    refused: [`${spec}.containers[0].env[1].name`],
  },
  "a shared process namespace": {
    object: runtime(pod({ shareProcessNamespace: true })),
    refused: [`${spec}.shareProcessNamespace`],
  },
  "namespaces of the node": {
    object: runtime(pod({ hostPID: true, hostIPC: true, hostNetwork: true })),
    refused: [`${spec}.hostPID`, `${spec}.hostIPC`, `${spec}.hostNetwork`],
  },
  "Pods that are not restarted": {
    object: runtime(pod({ restartPolicy: "Never" })),
    refused: [`${spec}.restartPolicy`],
  },
  "ephemeral containers": {
    object: runtime(pod({ ephemeralContainers: [{ name: "d" }] })),
    refused: [`${spec}.ephemeralContainers`],
  },
  "an identity for programs": {
    object: runtime(pod({ automountServiceAccountToken: true, serviceAccountName: "admin" })),
    refused: [`${spec}.automountServiceAccountToken`, `${spec}.serviceAccountName`],
  },
  "a grace period": {
    object: runtime(pod({ terminationGracePeriodSeconds: 5 })),
    refused: [`${spec}.terminationGracePeriodSeconds`],
  },
  "labels of our domain": {
    object: runtime({
      template: {
        metadata: {
          labels: { app: "a", "kruntimes.io/runtime": "x" },
          annotations: { "workflows.kruntimes.io/a": "" },
        },
        spec: { containers: [container] },
      },
    }),
    refused: [
      "spec.template.metadata.labels[kruntimes.io/runtime]",
      "spec.template.metadata.annotations[workflows.kruntimes.io/a]",
    ],
  },
  "volumes of ours": {
    object: runtime(
      pod({
        volumes: ["workspace", "kruntimes", "socket", "artifact-store", "kruntimes-x", "mine"].map((name) => ({
          name,
        })),
      }),
    ),
    refused: [0, 1, 2, 3, 4].map((index) => `${spec}.volumes[${index}].name`),
  },
  "mounts of our volumes": {
    object: runtime(first({ volumeMounts: [{ name: "socket", mountPath: "/x" }] })),
    refused: [`${spec}.containers[0].volumeMounts[0].name`],
  },
  "mounts over our directories": {
    object: runtime(
      first({
        volumeMounts: ["/workspace", "/workspace/x/", "//kruntimes", "/run", "/", "/workspaces", "/data"].map(
          (mountPath) => ({ name: "mine", mountPath }),
        ),
      }),
    ),
    refused: [0, 1, 2, 3, 4].map((index) => `${spec}.containers[0].volumeMounts[${index}].mountPath`),
  },
  "ports of the agent, in any container": {
    object: runtime(
      pod({
        containers: [
          { name: "runtime", image: "debian", ports: [{ containerPort: 8080 }, { containerPort: 10843 }] },
          { name: "proxy", image: "proxy", ports: [{ containerPort: 10844 }] },
        ],
      }),
    ),
    refused: [`${spec}.containers[0].ports[1].containerPort`, `${spec}.containers[1].ports[0].containerPort`],
  },
  "whole capacity": { object: runtime({ capacity: { resources: { runs: "8", gpu: 0 } } }), refused: [] },
  "half a place": {
    object: runtime({ capacity: { resources: { runs: "1500m" } } }),
    refused: ["spec.capacity.resources.runs"],
  },
  "a Pod without a place": {
    object: runtime({ capacity: { resources: { runs: 0 } } }),
    refused: ["spec.capacity.resources.runs"],
  },
  "no time to drain": { object: runtime({ drain: { timeout: "0s" } }), refused: [] },
  "days to drain": { object: runtime({ drain: { timeout: "48h" } }), refused: ["spec.drain.timeout"] },
  "a name of 40 characters": { object: runtime({}, "a".repeat(40)), refused: [] },
  "a name of 41 characters": { object: runtime({}, "a".repeat(41)), refused: ["metadata.name"] },
  "a name with a dot": { object: runtime({}, "python.3"), refused: ["metadata.name"] },
  "a server of its own": { object: runtime({ server: { type: "Custom" } }), refused: ["spec.server.type"] },
  "a bucket": {
    object: runtime({ artifactStore: { driver: "S3", s3: { bucket: "b" } } }),
    refused: ["spec.artifactStore.driver"],
  },
  "odd shapes that only Kubernetes may judge": {
    object: runtime(pod({ volumes: "x", initContainers: [1, { name: 5, volumeMounts: {}, env: [null] }] })),
    refused: [],
  },
};

test.each(Object.entries(cases))("%s", (_, { object, refused }) => {
  const errors = validateCreate("Runtime", object);
  expect(errors.map((error) => error.path)).toEqual(refused);
  for (const error of errors) {
    expect(error.message).toMatch(/[^.]$/);
    expect(error.advice).toMatch(/^[A-Z].*\.$/s);
  }
});

test("a change is held to the rules, but not to faults that were there before", () => {
  const old = runtime(pod({ hostPID: true }));
  const scaled = { ...old, spec: { ...old.spec, replicas: 3 } };
  expect(validateUpdate("Runtime", old, scaled)).toEqual([]);
  const worse = { ...old, spec: { ...old.spec, capacity: { resources: { runs: -1 } } } };
  expect(validateUpdate("Runtime", old, worse).map((error) => error.path)).toEqual(["spec.capacity.resources.runs"]);
});
