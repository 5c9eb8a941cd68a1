/** An upgrade brings the kinds up to date: they are ordinary templates of the chart, and objects of users outlive it. */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { runs } from "#api/resources.ts";
import { bashRun, bashRuntime, finished, installPlatform, podsOf, readyRuntime } from "../platform.ts";
import { adminClient, attempt, kubectl, testNamespace } from "../support.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "krt-chart-"));
  await installPlatform();
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
  await installPlatform();
});

/** The chart as an earlier release had it: without a kind, without a field, without the rule on phases. */
async function olderChart(): Promise<string> {
  const chart = join(directory, "kruntimes");
  await cp("charts/kruntimes", chart, { recursive: true });
  const kinds = join(chart, "generated/crds");
  await rm(join(kinds, "kruntimes.io_workflowactions.yaml"));
  const path = join(kinds, "kruntimes.io_runs.yaml");
  const crd = parse(await readFile(path, "utf8"));
  const { spec, status } = crd.spec.versions[0].schema.openAPIV3Schema.properties;
  delete spec.properties.priority;
  const rules = spec["x-kubernetes-validations"] as { fieldPath?: string }[];
  spec["x-kubernetes-validations"] = rules.filter(({ fieldPath }) => fieldPath !== ".priority");
  delete status["x-kubernetes-validations"];
  await writeFile(path, stringify(crd));
  expect(await readdir(kinds)).toHaveLength((await readdir("charts/kruntimes/generated/crds")).length - 1);
  return chart;
}

test("the kinds of an older release get the kind, the field and the rule that they lack, and no Run is lost", {
  timeout: 240_000,
}, async () => {
  const client = adminClient();
  await using namespace = await testNamespace("upgrade");
  await installPlatform({}, { chart: await olderChart() });
  // As on a cluster that never had it: an earlier release could not have kept it.
  await kubectl(["delete", "crd", "workflowactions.kruntimes.io", "--timeout=60s"]);
  await readyRuntime(client, bashRuntime(namespace.name));
  const before = await client.of(runs).create(bashRun(namespace.name, "before", "true"));
  const ended = await finished(client, before);
  const warm = (await podsOf(client, namespace.name, "bash")).map(({ metadata }) => metadata.uid);
  const explain = (path: string) => attempt("kubectl", ["explain", path]);
  expect((await explain("runs.spec.priority")).code).toBe(1);

  await installPlatform();
  await kubectl(["wait", "crd/workflowactions.kruntimes.io", "--for=condition=Established", "--timeout=30s"]);
  await expect.poll(async () => (await explain("runs.spec.priority")).code, { timeout: 30_000, interval: 500 }).toBe(0);
  expect((await client.of(runs).get(before.metadata)).status).toEqual(ended.status);
  const illegal = { ...ended, status: { ...ended.status, phase: "Running" } } as typeof ended;
  await expect(client.of(runs).update(illegal, "status")).rejects.toThrow(
    /phase may only move along the run statechart/,
  );
  const after = await client.of(runs).create(bashRun(namespace.name, "after", "true", { priority: 5 }));
  expect((await finished(client, after)).status?.phase).toBe("Succeeded");
  expect((await podsOf(client, namespace.name, "bash")).map(({ metadata }) => metadata.uid)).toEqual(warm);
});
