/** The platform in the cluster of the tests, installed by its chart; and what tests do with it. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { inject } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import { runs, runtimes } from "#api/resources.ts";
import { type Pod, pods } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { httpTransport } from "#kube/http-transport.ts";
import { loadClusterAccess } from "#kube/kubeconfig.ts";
import type { Client } from "#kube/resource.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import { apply, helm, image, until } from "./support.ts";

/** Release and namespace; `cluster:down` knows them. */
export const release = "kruntimes-test";
export const platformNamespace = "kruntimes-test";

export const usernameOf = (component: "scheduler" | "controller" | "webhook") =>
  `system:serviceaccount:${platformNamespace}:${release}-${component}`;

const small = { requests: { cpu: "10m", memory: "64Mi" }, limits: { memory: "512Mi" } };

/** Changes when the program does: the tag of the image is always the same. */
async function programVersion(): Promise<string> {
  const directory = join(import.meta.dirname, "../../dist/app");
  const hash = createHash("sha256");
  for (const name of (await readdir(directory)).sort()) hash.update(name).update(await readFile(join(directory, name)));
  return hash.digest("hex").slice(0, 12);
}

/** The values of the tests. */
export async function platformValues(): Promise<object> {
  const [repository, tag] = image("kruntimes").split(/:(?=[^/:]*$)/);
  const component = { resources: small, podAnnotations: { "kruntimes.io/program": await programVersion() } };
  return {
    image: { repository, tag, pullPolicy: "IfNotPresent" },
    scheduler: component,
    controller: component,
    webhook: component,
    agent: { resources: small },
  };
}

/** Installs the platform, or brings it up to date; resolves when all of it works. */
export async function installPlatform(change: object = {}): Promise<void> {
  const labels = { "kruntimes.io/test": "true", "pod-security.kubernetes.io/enforce": "restricted" };
  await apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: platformNamespace, labels } }]);
  const values = JSON.stringify({ ...(await platformValues()), ...change });
  const args = ["upgrade", "--install", release, "charts/kruntimes", "-n", platformNamespace, "--values", "-"];
  await helm([...args, "--wait", "--timeout", "2m"], { input: values });
}

export interface Identity {
  readonly user: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, string>>;
}

/** A client that acts as somebody else: by impersonation, which only an administrator may. */
export function clientAs({ user, groups = [], extra = {} }: Identity): Client {
  const access = loadClusterAccess({ file: inject("kubeconfig") });
  const headers: Record<string, string> = { "impersonate-user": user };
  for (const [key, value] of Object.entries(extra)) headers[`impersonate-extra-${encodeURIComponent(key)}`] = value;
  // One header only has room for one group here, and more than one was never needed.
  if (groups[0] !== undefined) headers["impersonate-group"] = groups[0];
  return createClient(
    httpTransport({
      server: access.server,
      credentials: async (renew) => {
        const own = await access.credentials(renew);
        return { ...own, headers: { ...own.headers, ...headers } };
      },
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
    }),
  );
}

/** The agent of a Pod of the Runtime `bash`, as the API server sees a token that is bound to it. */
export const agentOf = (namespace: string, pod: { readonly name: string; readonly uid: string }) =>
  clientAs({
    user: `system:serviceaccount:${namespace}:runtime-bash`,
    groups: ["system:serviceaccounts"],
    extra: { "authentication.kubernetes.io/pod-name": pod.name, "authentication.kubernetes.io/pod-uid": pod.uid },
  });

/** A client with a bearer token and nothing else: what somebody has who took it from a Pod. */
export function clientWithToken(token: string): Client {
  const access = loadClusterAccess({ file: inject("kubeconfig") });
  return createClient(
    httpTransport({
      server: access.server,
      credentials: async (renew) => {
        const { tls } = await access.credentials(renew);
        return { headers: { authorization: `Bearer ${token}` }, tls: { ca: tls?.ca, servername: tls?.servername } };
      },
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
    }),
  );
}

/** The schema leaves Pod specs open; their type names only what our rules read. */
export const podSpec = (spec: object) => spec as Runtime["spec"]["template"]["spec"];

/** A Runtime with our bash image. */
export function bashRuntime(namespace: string, change: Partial<Runtime["spec"]> = {}, name = "bash"): Runtime {
  return {
    apiVersion: "kruntimes.io/v1alpha1",
    kind: "Runtime",
    metadata: { name, namespace },
    spec: {
      replicas: 1,
      capacity: { resources: { runs: 4 } },
      template: {
        spec: podSpec({
          containers: [
            { name: "runtime", image: image("kruntimes-bash"), imagePullPolicy: "IfNotPresent", resources: small },
          ],
        }),
      },
      ...change,
    },
  };
}

export function bashRun(namespace: string, name: string, script: string, change: Partial<Run["spec"]> = {}): Run {
  return {
    apiVersion: "kruntimes.io/v1alpha1",
    kind: "Run",
    metadata: { name, namespace },
    spec: { runtime: "bash", source: { inline: script }, ...change },
  };
}

/** Creates a Runtime and waits until its Pods are ready. */
export async function readyRuntime(client: Client, runtime: Runtime): Promise<readonly Pod[]> {
  await client.of(runtimes).create(runtime);
  return readyPods(client, runtime.metadata.namespace ?? "", runtime.metadata.name, runtime.spec.replicas ?? 1);
}

/** The Pods of a Runtime once so many are ready. */
export async function readyPods(client: Client, namespace: string, name: string, replicas: number) {
  await until(client, runtimes, { namespace, name }, ({ status }) => status?.readyReplicas === replicas);
  return podsOf(client, namespace, name);
}

/** The Pods of a Runtime that are not being deleted. */
export async function podsOf(client: Client, namespace: string, runtime: string): Promise<readonly Pod[]> {
  const { items } = await client.of(pods).list({ namespace, labelSelector: `kruntimes.io/runtime=${runtime}` });
  return items.filter((pod) => pod.metadata.deletionTimestamp === undefined);
}

/** Resolves with the Run when it has ended, however it did. */
export function finished(client: Client, { metadata }: Run, ms?: number): Promise<Run> {
  return until(client, runs, metadata, ({ status }) => status?.completionTime !== undefined, ms);
}
