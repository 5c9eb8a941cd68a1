import { expect, test } from "vitest";
import { stringify } from "yaml";
import type { Runtime } from "#api/kinds/runtime.ts";
import { podContainers, podVolumes, tokenDirectory } from "#api/pod-layout.ts";
import { type PoolSettings, podTemplate } from "./pod-template.ts";

const settings: PoolSettings = {
  image: "example.com/kruntimes:1",
  clusterUid: "cluster",
  cluster: {
    imagePullPolicy: "IfNotPresent",
    imagePullSecrets: ["registry"],
    agentRole: "kruntimes-agent",
    agentResources: { requests: { cpu: "50m" }, limits: { memory: "512Mi" } },
  },
};

function runtime(spec: Partial<Runtime["spec"]> = {}): Runtime {
  return {
    metadata: { name: "bash", namespace: "n", uid: "u" },
    spec: { template: { spec: { containers: [{ name: "runtime", image: "debian" }] } }, ...spec },
  };
}

/** The schema leaves Pod specs open; their type names only what our rules read. */
const opened = (spec: object) => spec as Runtime["spec"]["template"]["spec"];

const everything: Runtime["spec"] = {
  template: {
    metadata: { labels: { team: "a" }, annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "true" } },
    spec: opened({
      containers: [
        {
          name: "runtime",
          image: "python:3.13-slim",
          env: [{ name: "A", value: "b" }],
          lifecycle: { postStart: { exec: { command: ["true"] } } },
          securityContext: { readOnlyRootFilesystem: true },
          volumeMounts: [{ name: "data", mountPath: "/data" }],
        },
        { name: "database", image: "postgres" },
      ],
      initContainers: [{ name: "prepare", image: "busybox" }],
      volumes: [{ name: "data", emptyDir: {} }],
      securityContext: { runAsUser: 1000 },
      imagePullSecrets: [{ name: "mine" }],
      tolerations: [{ key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 5 }],
    }),
  },
  server: { command: ["python3", "-u"] },
  capacity: { resources: { runs: 4, gpu: 1 } },
  workspace: { emptyDir: { sizeLimit: "1Gi" } },
  artifactStore: { driver: "Filesystem", filesystem: { volumeClaimName: "artifacts" } },
  drain: { timeout: "90s" },
};

const cases: Record<string, { spec?: Partial<Runtime["spec"]>; settings: PoolSettings; file: string }> = {
  "the smallest Runtime": { settings, file: "smallest" },
  "a Runtime that says everything": { spec: everything, settings, file: "everything" },
  "the smallest Runtime of a local cluster": {
    settings: { image: settings.image, clusterUid: "cluster" },
    file: "local",
  },
};

test.each(Object.entries(cases))("the Pod of %s is as committed", async (_, { spec, settings: given, file }) => {
  const text = stringify(podTemplate(runtime(spec), given), { lineWidth: 0, aliasDuplicateObjects: false });
  await expect(text).toMatchFileSnapshot(`golden/pod-${file}.yaml`);
});

test("only the agent mounts the token, and no token is mounted by itself", () => {
  const { spec } = podTemplate(runtime(everything), settings);
  const holders = [...(spec.initContainers ?? []), ...spec.containers].filter((container) =>
    container.volumeMounts?.some(({ name, mountPath }) => name === podVolumes.token || mountPath === tokenDirectory),
  );
  expect(holders.map(({ name }) => name)).toEqual([podContainers.agent]);
  expect(spec.automountServiceAccountToken).toBe(false);
});

test("the hook that drains is added to what the container has, and the grace period is longer than the drain", () => {
  const { spec } = podTemplate(runtime(everything), settings);
  expect(spec.containers[0]?.lifecycle).toEqual({
    postStart: { exec: { command: ["true"] } },
    preStop: { httpGet: { path: "/drain", port: 10843 } },
  });
  expect(spec.terminationGracePeriodSeconds).toBe(120);
});

test("the same Runtime gives the same template, so that no Pod is replaced for nothing", () => {
  expect(podTemplate(runtime(everything), settings)).toEqual(podTemplate(runtime(everything), settings));
});
