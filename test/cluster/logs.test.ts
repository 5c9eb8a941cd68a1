/** The logs of Runs through a real API server: who may read them, what comes, and what discovery says. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runs } from "#api/resources.ts";
import { createLogs, fromStart, type LogItem } from "#extension-api/client/logs.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import { bashRun, bashRuntime, finished, installPlatform, readyRuntime } from "./platform.ts";
import { adminClient, kubectl, type TestNamespace, testNamespace, until } from "./support.ts";

let namespace: TestNamespace;
beforeAll(async () => {
  await installPlatform();
  namespace = await testNamespace("logs");
  await readyRuntime(adminClient(), bashRuntime(namespace.name));
});
afterAll(() => namespace[Symbol.asyncDispose]());

const logsOf = (client = adminClient()) =>
  createLogs({ transport: client.transport, clock: systemClock, random: systemRandom });

const messages = (items: readonly LogItem[]) => items.map(({ message }) => message);

async function collect(items: AsyncIterable<LogItem>): Promise<LogItem[]> {
  const all: LogItem[] = [];
  for await (const item of items) all.push(item);
  return all;
}

test("a snapshot has what a Run printed, and kubectl gets it as it is", async () => {
  const client = adminClient();
  const run = await client.of(runs).create(bashRun(namespace.name, "hello", "echo hello; echo bad >&2"));
  await finished(client, run);
  const { items } = await logsOf(client).getLogs(namespace.name, "hello").do().snapshot();
  expect(items.map(({ stream, message }) => `${stream}: ${message}`).sort()).toEqual(["stderr: bad", "stdout: hello"]);
  const raw = await kubectl([
    "get",
    "--raw",
    `/apis/logs.kruntimes.io/v1alpha1/namespaces/${namespace.name}/runs/hello/log`,
  ]);
  expect(JSON.parse(raw).items).toHaveLength(2);
});

test("a Run that goes on is followed to its end, and from every cursor again", async () => {
  const client = adminClient();
  const script = "for n in 1 2 3 4 5; do echo line $n; sleep 0.4; done";
  const run = await client.of(runs).create(bashRun(namespace.name, "slow", script));
  await until(client, runs, run.metadata, ({ status }) => status?.phase === "Running");
  const logs = logsOf(client);
  const items = await collect(await logs.getLogs(namespace.name, "slow", { follow: true, cursor: fromStart }).stream());
  const lines = [1, 2, 3, 4, 5].map((n) => `line ${n}`);
  expect(messages(items)).toEqual(lines);
  for (const [n, { cursor }] of items.entries()) {
    if (cursor === undefined) continue;
    const rest = await collect(await logs.getLogs(namespace.name, "slow", { cursor }).stream());
    expect(messages(rest)).toEqual(lines.slice(n + 1));
  }
});
