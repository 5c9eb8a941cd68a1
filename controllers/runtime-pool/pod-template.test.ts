import { expect, test } from "vitest";
import { stringify } from "yaml";
import type { Runtime, workspaceVolumeSources } from "#api/kinds/runtime.ts";
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
  secrets: ["registry-login", "db"],
  configMaps: ["settings.example.com"],
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

test("only the agent mounts Secrets and ConfigMaps, read-only, and a Pod starts without them", () => {
  const { spec } = podTemplate(runtime(everything), settings);
  const volumes = (spec.volumes ?? []).filter(({ secret, configMap }) => secret ?? configMap);
  expect(
    volumes.map(({ secret, configMap }) => [secret?.secretName ?? configMap?.name, (secret ?? configMap)?.optional]),
  ).toEqual([
    ["db", true],
    ["registry-login", true],
    ["settings.example.com", true],
  ]);
  const names = new Set(volumes.map(({ name }) => name));
  const holders = [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ name, volumeMounts = [] }) =>
    volumeMounts.filter((mount) => names.has(mount.name)).map(({ readOnly }) => `${name} ${readOnly}`),
  );
  expect(holders).toEqual(Array(3).fill(`${podContainers.agent} true`));
});

test("the order of a list is no reason to replace Pods", () => {
  expect(podTemplate(runtime({ ...everything, secrets: ["db", "registry-login"] }), settings)).toEqual(
    podTemplate(runtime(everything), settings),
  );
});

/** Every volume source that the API declares, with a body as Kubernetes wants it. */
const sources: Record<(typeof workspaceVolumeSources)[number], object> = {
  emptyDir: { medium: "Memory", sizeLimit: "64Mi" },
  persistentVolumeClaim: { claimName: "files" },
  ephemeral: { volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"] } } },
  hostPath: { path: "/srv/runs", type: "Directory" },
  nfs: { server: "nfs.example.com", path: "/runs" },
  csi: { driver: "csi.example.com", volumeAttributes: { size: "1Gi" } },
  iscsi: { targetPortal: "10.0.0.1:3260", iqn: "iqn.2001-04.com.example:disk", lun: 0 },
  fc: { targetWWNs: ["500a0982991b8dc5"], lun: 2 },
  cephfs: { monitors: ["10.0.0.1:6789"] },
  rbd: { monitors: ["10.0.0.1:6789"], image: "runs" },
  glusterfs: { endpoints: "gluster", path: "runs" },
  azureDisk: { diskName: "runs", diskURI: "uri" },
  azureFile: { secretName: "azure", shareName: "runs" },
  awsElasticBlockStore: { volumeID: "vol-1" },
  gcePersistentDisk: { pdName: "runs" },
  cinder: { volumeID: "1" },
  vsphereVolume: { volumePath: "[store] runs" },
  portworxVolume: { volumeID: "runs" },
  scaleIO: { gateway: "https://example.com", system: "s", secretRef: { name: "scaleio" } },
  storageos: { volumeName: "runs" },
  quobyte: { registry: "registry:7861", volume: "runs" },
  photonPersistentDisk: { pdID: "1" },
  flexVolume: { driver: "example.com/lvm" },
  flocker: { datasetName: "runs" },
};

test.each(Object.entries(sources))("a workspace of %s is that volume of the Pod, and no other", (source, body) => {
  const { spec } = podTemplate(runtime({ workspace: { [source]: body } }), settings);
  const found = spec.volumes?.filter(({ name }) => name === podVolumes.workspace);
  expect(found).toEqual([{ name: podVolumes.workspace, [source]: body }]);
  const holders = [...(spec.initContainers ?? []), ...spec.containers].filter(({ volumeMounts = [] }) =>
    volumeMounts.some(({ name, mountPath }) => name === podVolumes.workspace && mountPath === "/workspace"),
  );
  expect(holders.map(({ name }) => name)).toEqual([podContainers.agent, podContainers.runtime]);
});

test("a workspace that names no source is an emptyDir", () => {
  const { spec } = podTemplate(runtime({ workspace: {} }), settings);
  expect(spec.volumes?.find(({ name }) => name === podVolumes.workspace)).toEqual({
    name: podVolumes.workspace,
    emptyDir: {},
  });
});
