/** The images work under a real kubelet, in a namespace that enforces the Pod Security Standard `restricted`. */
import { expect, test } from "vitest";
import { type Pod, pods } from "#kube/builtin.ts";
import { adminClient, apply, image, kubectl, testNamespace, until } from "./support.ts";

const secure = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };

/** An executor in an image of a user, brought there by the injector as in the Pods of a pool. */
function executorPod(namespace: string, runtimeImage: string, interpreter: string): Pod {
  const socketFile = "/run/kruntimes/executor.sock";
  const executor = { name: "kruntimes", mountPath: "/kruntimes" };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "executor", namespace },
    spec: {
      terminationGracePeriodSeconds: 5,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 65532,
        runAsGroup: 65532,
        fsGroup: 65532,
        seccompProfile: { type: "RuntimeDefault" },
      },
      initContainers: [
        {
          name: "injector",
          image: image("kruntimes"),
          imagePullPolicy: "IfNotPresent",
          args: ["inject", "--target=/kruntimes"],
          volumeMounts: [executor],
          securityContext: { ...secure, readOnlyRootFilesystem: true },
        },
      ],
      containers: [
        {
          name: "runtime",
          image: runtimeImage,
          imagePullPolicy: "IfNotPresent",
          command: ["/kruntimes/tini", "--", "/kruntimes/kruntimes"],
          args: ["executor", `--socket=${socketFile}`, `--interpreter=${interpreter}`],
          volumeMounts: [
            { ...executor, readOnly: true },
            { name: "socket", mountPath: "/run/kruntimes" },
          ],
          readinessProbe: { exec: { command: ["test", "-S", socketFile] }, periodSeconds: 1 },
          securityContext: secure,
        },
      ],
      volumes: [
        { name: "kruntimes", emptyDir: {} },
        { name: "socket", emptyDir: {} },
      ],
    },
  };
}

const ready = (pod: Pod) => pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");

test.each([
  ["kruntimes-bash", "bash", ["bash", "-c", "git --version && jq --version && id -u"]],
  ["kruntimes-python", "python", ["python3", "-c", "import os, ssl, venv; print(os.getuid())"]],
] as const)("%s runs an injected executor as a user without rights", async (name, interpreter, tool) => {
  const client = adminClient();
  await using namespace = await testNamespace("smoke");
  await apply([executorPod(namespace.name, image(name), interpreter)]);
  const ref = { name: "executor", namespace: namespace.name };
  await until(client, pods, ref, (pod) => ready(pod) === true);
  const inPod = (...command: string[]) => kubectl(["exec", "-n", namespace.name, "executor", "--", ...command]);
  expect(await kubectl(["logs", "-n", namespace.name, "executor"])).toContain('"message":"serving"');
  expect((await inPod(...tool)).trim().split("\n").at(-1)).toBe("65532");

  // The executor ends with an error, the kubelet starts its container again, and what was injected is still good.
  await inPod("sh", "-c", "kill -9 $(cat /proc/1/task/1/children)");
  await until(
    client,
    pods,
    ref,
    (pod) => ready(pod) === true && pod.status?.containerStatuses?.[0]?.restartCount === 1,
  );
});

test("an injector without a target says what is missing, where kubectl shows it", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("smoke");
  const pod = executorPod(namespace.name, image("kruntimes-bash"), "bash");
  const [injector] = pod.spec.initContainers ?? [];
  await apply([
    {
      ...pod,
      spec: { ...pod.spec, restartPolicy: "Never", initContainers: [{ ...injector, args: ["inject"] }] },
    } as Pod,
  ]);
  await until(
    client,
    pods,
    { name: "executor", namespace: namespace.name },
    ({ status }) => status?.phase === "Failed",
  );
  expect(await kubectl(["logs", "-n", namespace.name, "executor", "-c", "injector"])).toBe(
    "kruntimes inject: --target is missing\n",
  );
});
