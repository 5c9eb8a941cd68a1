import { expect, test } from "vitest";
import type { Pod } from "#kube/builtin.ts";
import { nodeLayout } from "./layout.ts";
import { type PlanFailure, type PodPlan, planPod } from "./pod-plan.ts";

const layout = nodeLayout("/state");

function pod(change: (pod: Pod) => void = () => {}): Pod {
  const made: Pod = {
    metadata: { name: "runtime-bash-1", namespace: "ns", uid: "u1" },
    spec: {
      initContainers: [
        { name: "kruntimes-injector", args: ["inject"] },
        {
          name: "runtimed",
          restartPolicy: "Always",
          args: ["agent", "--socket=/run/kruntimes/executor.sock", "--workspace-root=/workspace", "--runtime=bash"],
          env: [
            { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            { name: "ROOT", value: "/workspace" },
          ],
          volumeMounts: [
            { name: "workspace", mountPath: "/workspace" },
            { name: "socket", mountPath: "/run/kruntimes" },
          ],
        },
      ],
      containers: [
        {
          name: "runtime",
          image: "debian:12",
          args: ["executor", "--socket=/run/kruntimes/executor.sock"],
          volumeMounts: [{ name: "socket", mountPath: "/run/kruntimes" }],
        },
      ],
      volumes: [
        { name: "workspace", emptyDir: {} },
        { name: "socket", emptyDir: {} },
        { name: "artifacts", persistentVolumeClaim: { claimName: "store" } },
      ],
    },
  };
  change(made);
  return made;
}

test("paths of the Pod become directories of this machine, in flags and variables", () => {
  const plan = planPod(pod(), layout, new Set(["store"])) as PodPlan;
  expect(plan.containers).toEqual([
    {
      name: "runtimed",
      args: [
        "agent",
        "--socket=/state/pods/u1/socket/executor.sock",
        "--workspace-root=/state/pods/u1/workspace",
        "--runtime=bash",
      ],
      env: { POD_NAME: "runtime-bash-1", ROOT: "/state/pods/u1/workspace" },
    },
    { name: "runtime", args: ["executor", "--socket=/state/pods/u1/socket/executor.sock"], env: {} },
  ]);
  expect(plan.directories).toEqual(["/state/pods/u1/workspace", "/state/pods/u1/socket", "/state/claims/ns/store"]);
});

const failures: Record<string, { change: (pod: Pod) => void; want: PlanFailure["reason"]; says: string }> = {
  "a claim that does not exist is waited for": {
    change: () => {},
    want: "ClaimNotFound",
    says: 'persistentvolumeclaim "store" not found; create it',
  },
  "a volume that needs a real node is refused": {
    change: (made) => {
      made.spec.volumes = [{ name: "disk", nfs: { server: "x" } }];
    },
    want: "UnsupportedVolume",
    says: "not nfs",
  },
  "a Secret of the template's own is refused": {
    change: (made) => {
      made.spec.volumes = [{ name: "mine", secret: { secretName: "x" } }];
    },
    want: "UnsupportedVolume",
    says: "not secret",
  },
  "a directory of a node as workspace is refused": {
    change: (made) => {
      made.spec.volumes = [{ name: "workspace", hostPath: { path: "/srv" } }];
    },
    want: "UnsupportedVolume",
    says: "not hostPath; use one of these, or a cluster",
  },
  "a container that needs its image is refused": {
    change: (made) => {
      made.spec.volumes = [];
      made.spec.containers.push({ name: "db", image: "postgres" });
    },
    want: "UnsupportedContainer",
    says: 'container "db"',
  },
  "a variable that only the kubelet knows is refused": {
    change: (made) => {
      made.spec.volumes = [];
      made.spec.containers[0]?.volumeMounts?.splice(0);
      made.spec.initContainers = [];
      Object.assign(made.spec.containers[0] ?? {}, {
        env: [{ name: "X", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }],
      });
    },
    want: "UnsupportedVariable",
    says: "variable X",
  },
};

test.each(Object.entries(failures))("%s", (_, { change, want, says }) => {
  const failure = planPod(pod(change), layout, new Set()) as PlanFailure;
  expect(failure.reason).toBe(want);
  expect(failure.message).toContain(says);
});

test("a state directory that is too deep for a socket is named", () => {
  const failure = planPod(pod(), nodeLayout(`/${"d".repeat(100)}`), new Set(["store"])) as PlanFailure;
  expect(failure.message).toContain("choose a shorter one");
});

test("Secrets and ConfigMaps of the platform are directories that the agent finds by their names", () => {
  const plan = planPod(
    pod((made) => {
      made.spec.volumes?.push(
        { name: "kruntimes-secret-0", secret: { secretName: "db", optional: true } },
        { name: "kruntimes-configmap-0", configMap: { name: "app.settings", optional: true } },
      );
      const agent = made.spec.initContainers?.[1];
      agent?.args?.push("--references=/references");
      agent?.volumeMounts?.push(
        { name: "kruntimes-secret-0", mountPath: "/references/secrets/db" },
        { name: "kruntimes-configmap-0", mountPath: "/references/configmaps/app.settings" },
      );
    }),
    layout,
    new Set(["store"]),
  ) as PodPlan;
  expect(plan.containers[0]?.args).toContain("--references=/state/pods/u1/references");
  expect(plan.references).toEqual([
    { kind: "Secret", name: "db", directory: "/state/pods/u1/references/secrets/db" },
    { kind: "ConfigMap", name: "app.settings", directory: "/state/pods/u1/references/configmaps/app.settings" },
  ]);
  expect(plan.directories).toEqual(expect.arrayContaining(plan.references.map(({ directory }) => directory)));
});
