/** The platform in the cluster of the tests, installed by its chart; and what tests do with it. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
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
import { apply, attempt, image, kubectl, until } from "./support.ts";

/** Release and namespace; `cluster:down` knows them. */
export const release = "kruntimes-test";
export const platformNamespace = "kruntimes-test";

export const usernameOf = (component: "scheduler" | "controller" | "webhook" | "run-extension-api") =>
  `system:serviceaccount:${platformNamespace}:${release}-${component}`;

const small = { requests: { cpu: "10m", memory: "64Mi" }, limits: { memory: "512Mi" } };

/** Changes when the files of a folder do. */
async function hashOf(folder: string, ...more: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const text of more) hash.update(text);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const file of files.sort()) hash.update(file.slice(folder.length)).update(await readFile(file));
  return hash.digest("hex").slice(0, 12);
}

const root = join(import.meta.dirname, "../..");

/** The tag of the image is always the same, so the Pods have to be told that its program is another one. */
const programVersion = () => hashOf(join(root, "dist/app"));

/** The values of the tests. */
export async function platformValues(): Promise<object> {
  const [repository, tag] = image("kruntimes").split(/:(?=[^/:]*$)/);
  const component = { resources: small, podAnnotations: { "kruntimes.io/program": await programVersion() } };
  return {
    image: { repository, tag, pullPolicy: "IfNotPresent" },
    scheduler: component,
    controller: component,
    webhook: component,
    runExtensionAPI: component,
    agent: { resources: small },
  };
}

/** Installs the platform, or brings it up to date; resolves when all of it works. Nothing to do when it is as it should be. */
export async function installPlatform(
  change: object = {},
  { timeout = "3m", chart = "charts/kruntimes" } = {},
): Promise<void> {
  const labels = { "kruntimes.io/test": "true", "pod-security.kubernetes.io/enforce": "restricted" };
  await apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: platformNamespace, labels } }]);
  const values = JSON.stringify({ ...(await platformValues()), ...change });
  const wanted = `tests ${await hashOf(resolve(root, chart), values)}`;
  const args = ["upgrade", "--install", release, chart, "-n", platformNamespace, "--values", "-"];
  const options = ["--wait", "--timeout", timeout, "--description", wanted];
  for (let rounds = 0; rounds < 120; rounds++) {
    const { code, stdout } = await attempt("helm", ["status", release, "-n", platformNamespace, "-o", "json"]);
    const { status, description } = code === 0 ? JSON.parse(stdout).info : {};
    if (status === "deployed" && description === wanted) return logsAvailable();
    const done = await attempt("helm", [...args, ...options], { input: values });
    if (done.code === 0) return logsAvailable();
    // Another file of the tests is at it.
    if (!/another operation .* is in progress|release: already exists/.test(done.stderr)) throw new Error(done.stderr);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  throw new Error("another operation on the release is in progress, and does not end: helm history, helm rollback");
}

/** Helm does not wait for what the API server thinks of an APIService. */
async function logsAvailable(): Promise<void> {
  await kubectl(["wait", "apiservice", "v1alpha1.logs.kruntimes.io", "--for=condition=Available", "--timeout=60s"]);
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
