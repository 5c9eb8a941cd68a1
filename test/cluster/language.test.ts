/** Small workflows that also run on the embedded cluster: the same files, the same expectations, on real Pods. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { workflowRuns } from "#api/resources.ts";
import { readCase, shownOf, start } from "#test/support/workflow-case.ts";
import { bashRuntime, installPlatform, readyRuntime } from "./platform.ts";
import { adminClient, type TestNamespace, testNamespace, until } from "./support.ts";

const cases = [
  "graph-diamond",
  "if-failure-job",
  "if-skipped-need",
  "continue-step",
  "retry-step",
  "retry-job",
  "matrix-fail-fast",
  "matrix-dynamic",
  "cleanup-timeout-job",
  "action-steps",
  "reuse-nested",
].map((name) => {
  const file = join(import.meta.dirname, `../integration/workflows/${name}.yaml`);
  return [name, readCase(readFileSync(file, "utf8"))] as const;
});

const client = adminClient();
let namespace: TestNamespace;
/** What became of the request to start each case. All of them start at once. */
const started = new Map<string, Promise<string | undefined>>();

beforeAll(async () => {
  await installPlatform();
  namespace = await testNamespace("language");
  await readyRuntime(client, bashRuntime(namespace.name, { capacity: { resources: { runs: 16 } } }));
  for (const [name, each] of cases) started.set(name, start(client, { namespace: namespace.name, name }, each));
  return () => namespace[Symbol.asyncDispose]();
});

test.each(cases)("%s ends on real Pods as it does on the embedded cluster", async (name, each) => {
  expect(await started.get(name)).toBeUndefined();
  const ref = { namespace: namespace.name, name };
  const ended = await until(client, workflowRuns, ref, ({ status }) => status?.completionTime !== undefined);
  expect(shownOf(ended)).toMatchObject(each.expect);
});
