/** What the tests of this folder share: the cluster with its clients and programs, namespaces of their own, waiting. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { text } from "node:stream/consumers";
import { inject } from "vitest";
import type { KubeObject } from "#api/meta.ts";
import { createClient } from "#kube/client.ts";
import { httpTransport } from "#kube/http-transport.ts";
import { loadClusterAccess } from "#kube/kubeconfig.ts";
import type { Client, ObjectRef, ResourceType } from "#kube/resource.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import { isNotFound } from "#kube/transport.ts";

/** A client with the rights of the kubeconfig: an administrator. */
export function adminClient(): Client {
  const { server, credentials } = loadClusterAccess({ file: inject("kubeconfig") });
  return createClient(
    httpTransport({ server, credentials, clock: systemClock, random: systemRandom, logger: silentLogger }),
  );
}

/** An image that `npm run cluster:images` builds; with `imagePullPolicy: IfNotPresent` it is never pulled on our own cluster. */
export function image(name: "kruntimes" | "kruntimes-bash" | "kruntimes-python"): string {
  return `${inject("imagePrefix")}/${name}:test`;
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs kubectl or helm against the cluster and tells how it went. */
export async function attempt(
  program: "kubectl" | "helm",
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<Outcome> {
  const child = spawn(`${inject("programs")}/${program}`, args, {
    env: { ...process.env, ...options.env, KUBECONFIG: inject("kubeconfig") },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => {}); // it may end without reading
  child.stdin.end(options.input ?? "");
  const exit = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { code, stdout, stderr };
}

/** Runs kubectl; answers its output. @throws Error with what it said when it fails */
export const kubectl = (args: readonly string[], options?: ProgramOptions) => succeed("kubectl", args, options);

/** Runs helm; answers its output. @throws Error with what it said when it fails */
export const helm = (args: readonly string[], options?: ProgramOptions) => succeed("helm", args, options);

async function succeed(program: "kubectl" | "helm", args: readonly string[], options?: ProgramOptions) {
  const { code, stdout, stderr } = await attempt(program, args, options);
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} failed (${code}):\n${stderr}${stdout}`);
  return stdout;
}

/** Applies objects or the text of a manifest, as a user would. */
export function apply(what: string | readonly KubeObject[], namespace?: string): Promise<string> {
  const input = typeof what === "string" ? what : what.map((object) => JSON.stringify(object)).join("\n---\n");
  return kubectl(["apply", "-f", "-", ...(namespace === undefined ? [] : ["--namespace", namespace])], { input });
}

export interface TestNamespace extends AsyncDisposable {
  readonly name: string;
}

/** What `cluster:down` removes from a cluster that is not ours. */
const testLabel = { "kruntimes.io/test": "true" };

/** A namespace of its own for a test; it is deleted in the background when the test is over. Pod Security is `restricted` unless told. */
export async function testNamespace(purpose: string, labels: Readonly<Record<string, string>> = {}) {
  const name = `kruntimes-test-${purpose}-${randomBytes(3).toString("hex")}`;
  await apply([
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels: { ...testLabel, "pod-security.kubernetes.io/enforce": "restricted", ...labels } },
    },
  ]);
  const namespace: TestNamespace = {
    name,
    async [Symbol.asyncDispose]() {
      await kubectl(["delete", "namespace", name, "--wait=false"]);
    },
  };
  return namespace;
}

/**
 * Resolves with the object once it exists and satisfies `holds`; driven by a watch.
 * @throws Error with its last state after `ms` milliseconds
 */
export async function until<T extends KubeObject>(
  client: Client,
  resource: ResourceType<T>,
  ref: ObjectRef,
  holds: (object: T) => boolean,
  ms = 60_000,
): Promise<T> {
  const signal = AbortSignal.timeout(ms);
  let last: T | undefined;
  // A watch may end at any time, for example when the API server closes it; then another one begins.
  while (!signal.aborted) {
    try {
      const fieldSelector = `metadata.name=${ref.name}`;
      for await (const event of await client.of(resource).watch({ namespace: ref.namespace, fieldSelector, signal })) {
        if (event.type !== "ADDED" && event.type !== "MODIFIED") continue;
        last = event.object;
        if (holds(last)) return last;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
  throw new Error(
    `${resource.kind} ${ref.name} did not get there in ${ms} ms; its last state: ${JSON.stringify(last)}`,
  );
}

/** Resolves once the object is gone. */
export async function untilGone<T extends KubeObject>(
  client: Client,
  resource: ResourceType<T>,
  ref: ObjectRef,
  ms = 60_000,
): Promise<void> {
  const end = performance.now() + ms;
  for (;;) {
    const found = await client
      .of(resource)
      .get(ref)
      .catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
    if (found === undefined) return;
    if (performance.now() > end)
      throw new Error(`${resource.kind} ${ref.name} is still there: ${JSON.stringify(found)}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** Address at which Pods reach this machine, where it is the node. */
export const nodeAddress = () =>
  kubectl(["get", "nodes", "-o", 'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}']);
