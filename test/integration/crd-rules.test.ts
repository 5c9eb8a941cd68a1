/** The generated CRDs, loaded as they are into an API server, accept and refuse what their rules say. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { type Kind, kinds } from "#api/crd/kinds.ts";
import type { KubeObject } from "#api/meta.ts";
import { runs } from "#api/resources.ts";
import type { ResourceType } from "#kube/resource.ts";
import type { CustomResourceDefinition } from "#local/apiserver/crd/types.ts";
import { refusal, setup } from "#local/apiserver/testing/setup.ts";
import { type RuleCase, ruleCases } from "./crd-rule-cases.ts";

const folder = join(import.meta.dirname, "../../crds");
const crds = readdirSync(folder).map(
  (file) => parse(readFileSync(join(folder, file), "utf8"), { version: "1.1" }) as CustomResourceDefinition,
);
const { client } = setup({ crds });

const of = (kind: Kind) => client.of(kinds[kind].resource as ResourceType<KubeObject>);
const namespace = "default";
let made = 0;

/** Kubernetes writes members of maps as `jobs.build` in one kind of error and `jobs[build]` in the other. */
const plain = (path: string) => path.replace(/\[([^\]0-9][^\]]*)\]/g, ".$1");

async function attempt({ kind, spec, status, old, name }: RuleCase): Promise<unknown> {
  made += 1;
  const api = of(kind);
  const metadata = { name: name ?? `case-${made}`, namespace };
  let stored = await api.create(wire({ metadata, spec: old?.spec ?? spec }));
  if (old?.status !== undefined) stored = await api.update(wire({ ...stored, status: old.status }), "status");
  if (status !== undefined) return api.update(wire({ ...stored, status }), "status");
  return old === undefined ? stored : api.update(wire({ ...stored, spec }));
}

/** As it would come over the wire: without members that are undefined. */
function wire(object: object): KubeObject {
  return JSON.parse(JSON.stringify(object)) as KubeObject;
}

test.each(Object.entries(ruleCases))("%s", async (_, rule) => {
  const { refused } = rule;
  if (refused === undefined) {
    await expect(attempt(rule)).resolves.toBeDefined();
    return;
  }
  const { status } = await refusal(attempt(rule));
  expect(status.code).toBe(422);
  const causes = (status.details?.causes ?? [])
    .map(({ field = "", message = "" }) => ({ path: plain(field), message }))
    // A server that stops before the CEL rules says so in a cause without a field.
    .filter(({ path }) => path !== "<nil>");
  expect(causes).toEqual([{ path: plain(refused.path), message: expect.stringMatching(refused.message) }]);
});

test("defaults are filled in, and what no schema knows is dropped", async () => {
  const run = await client.of(runs).create(
    wire({
      metadata: { name: "defaults", namespace },
      spec: { runtime: "bash", source: { inline: "true" }, workspace: { name: "w" }, color: "red" },
    }) as never,
  );
  expect(run.spec).toEqual({
    runtime: "bash",
    source: { inline: "true" },
    mode: { task: {} },
    workspace: { name: "w", kind: "PersistentWorkspace", apiGroup: "kruntimes.io/v1alpha1" },
  });
  expect(run.status).toEqual({ phase: "Pending" });
});
