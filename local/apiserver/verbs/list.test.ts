import { expect, test } from "vitest";
import type { KubeList } from "#api/meta.ts";
import { events, namespaces, pods } from "#kube/builtin.ts";
import { listAll } from "#kube/client.ts";
import { refusal, setup, type Widget, widget, widgets } from "../testing/setup.ts";

const path = "/apis/example.com/v1/namespaces/default/widgets";

async function many(count: number, options = {}) {
  const made = setup(options);
  const api = made.client.of(widgets);
  for (let i = 0; i < count; i++)
    await api.create(
      widget(`w${String(i).padStart(3, "0")}`, { color: i % 2 ? "red" : "blue" }, { labels: { n: String(i) } }),
    );
  const page = (query: Record<string, string | undefined>) =>
    made.server.handle({ method: "GET", path, query }) as Promise<KubeList<Widget>>;
  return { ...made, api, page };
}

const namesOf = ({ items }: KubeList<Widget>): string[] => items.map(({ metadata }) => metadata.name);

test("a list has the kind, the version of its state, and items in order", async () => {
  const { page } = await many(3);
  const list = await page({});
  expect(list).toMatchObject({ kind: "WidgetList", apiVersion: "example.com/v1" });
  expect(namesOf(list)).toEqual(["w000", "w001", "w002"]);
  expect(list.metadata.resourceVersion).toBe(list.items[2]?.metadata.resourceVersion);
  expect(list.metadata).not.toHaveProperty("continue");
});

test("pages follow each other without gaps and tell how many remain", async () => {
  const { page } = await many(7);
  const first = await page({ limit: "3" });
  expect(namesOf(first)).toEqual(["w000", "w001", "w002"]);
  expect(first.metadata.remainingItemCount).toBe(4);
  const second = await page({ limit: "3", continue: first.metadata.continue });
  expect(namesOf(second)).toEqual(["w003", "w004", "w005"]);
  expect(second.metadata.remainingItemCount).toBe(1);
  const third = await page({ limit: "3", continue: second.metadata.continue });
  expect(namesOf(third)).toEqual(["w006"]);
  expect(third.metadata.continue).toBeUndefined();
});

test("pages show one state, whatever happens between them", async () => {
  const { page, api } = await many(6);
  const first = await page({ limit: "2" });
  await api.delete({ name: "w003", namespace: "default" });
  await api.patch({ name: "w004", namespace: "default" }, { spec: { color: "green" } });
  await api.create(widget("w0025"));
  await api.delete({ name: "w000", namespace: "default" });
  const second = await page({ limit: "10", continue: first.metadata.continue });
  expect(namesOf(second)).toEqual(["w002", "w003", "w004", "w005"]);
  expect(second.items[2]?.spec?.color).toBe("blue");
  expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
});

test("pages over all namespaces go on across the border", async () => {
  const { client, server } = setup();
  await client.of(namespaces).create({ metadata: { name: "a" } });
  await client.of(namespaces).create({ metadata: { name: "z" } });
  for (const namespace of ["default", "z", "a"]) {
    for (const name of ["one", "two"]) await client.of(widgets).create(widget(name, {}, { namespace }));
  }
  const seen: string[] = [];
  let token: string | undefined;
  do {
    const page = (await server.handle({
      method: "GET",
      path: "/apis/example.com/v1/widgets",
      query: { limit: "3", continue: token },
    })) as KubeList<Widget>;
    seen.push(...page.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
    token = page.metadata.continue;
  } while (token !== undefined);
  expect(seen).toEqual(["a/one", "a/two", "default/one", "default/two", "z/one", "z/two"]);
});

test("a page that history no longer reaches is refused with a token to go on inconsistently", async () => {
  const { page, server, api } = await many(4);
  const first = await page({ limit: "2" });
  await api.delete({ name: "w003", namespace: "default" });
  server.compact();
  const error = await refusal(page({ limit: "2", continue: first.metadata.continue }));
  expect(error.status).toMatchObject({ code: 410, reason: "Expired" });
  expect(error.message).toMatch(/^The provided continue parameter is too old/);
  const rest = await page({ limit: "2", continue: error.status.metadata.continue });
  expect(namesOf(rest)).toEqual(["w002"]);
});

test("reading all pages starts again when the snapshot expires", async () => {
  const { api, server } = await many(5);
  let lists = 0;
  server.faults.onRequest = ({ verb }) => {
    lists += 1;
    if (verb === "list" && lists === 2) {
      server.compact();
    }
    return undefined;
  };
  await api.patch({ name: "w000", namespace: "default" }, { spec: { size: 1 } });
  lists = 0;
  const all = await listAll(api, { namespace: "default", limit: 2 });
  expect(all.items).toHaveLength(5);
});

test("remaining items are not counted under a selector", async () => {
  const { page } = await many(6);
  const list = await page({ limit: "1", fieldSelector: "spec.color=red" });
  expect(namesOf(list)).toEqual(["w001"]);
  expect(list.metadata.continue).toBeDefined();
  expect(list.metadata.remainingItemCount).toBeUndefined();
  const last = await page({ fieldSelector: "spec.color=red", continue: list.metadata.continue });
  expect(namesOf(last)).toEqual(["w003", "w005"]);
});

const selections: Record<string, { query: Record<string, string>; want: string[] }> = {
  "a label": { query: { labelSelector: "n=1" }, want: ["w001"] },
  "a set of labels": { query: { labelSelector: "n in (0, 2)" }, want: ["w000", "w002"] },
  "a name": { query: { fieldSelector: "metadata.name=w002" }, want: ["w002"] },
  "a field of the CRD": { query: { fieldSelector: "spec.color=red" }, want: ["w001", "w003"] },
  "an absent field equals the empty text": {
    query: { fieldSelector: "status.phase=" },
    want: ["w000", "w001", "w002", "w003"],
  },
  "an absent field differs from every other": {
    query: { fieldSelector: "status.phase!=Ready,spec.color=blue" },
    want: ["w000", "w002"],
  },
  "both selectors": { query: { labelSelector: "n!=1", fieldSelector: "spec.color=red" }, want: ["w003"] },
  "another namespace": { query: { fieldSelector: "metadata.namespace=other" }, want: [] },
};

test.each(Object.entries(selections))("selects by %s", async (_, { query, want }) => {
  const { page } = await many(4);
  expect(namesOf(await page(query))).toEqual(want);
});

const refused: Record<string, { query: Record<string, string>; code: number; message: string }> = {
  "a field that the CRD does not select by": {
    query: { fieldSelector: "spec.size=1" },
    code: 400,
    message: "field label not supported: spec.size",
  },
  "a field selector that is none": {
    query: { fieldSelector: "spec.size" },
    code: 400,
    message: "invalid selector: 'spec.size'; can't understand 'spec.size'",
  },
  "a label selector that is none": {
    query: { labelSelector: "a in b" },
    code: 400,
    message: "unable to parse requirement: found 'b', expected: '('",
  },
  "a limit that is no number": { query: { limit: "x" }, code: 400, message: "limit: Invalid value" },
  "a token that we did not make": { query: { continue: "eA" }, code: 400, message: "continue key is not valid" },
  "a token with a version": {
    query: { continue: "eA", resourceVersion: "5" },
    code: 400,
    message: "specifying resource version is not allowed when using continue",
  },
  "a version that is no number": {
    query: { resourceVersion: "x" },
    code: 400,
    message: 'resourceVersion: Invalid value: "x"',
  },
  "a version of the future": {
    query: { resourceVersion: "999999" },
    code: 504,
    message: "Timeout: Too large resource version: 999999, current:",
  },
  "a rule without a version": {
    query: { resourceVersionMatch: "Exact" },
    code: 422,
    message:
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
  },
  "a rule that does not exist": {
    query: { resourceVersion: "1", resourceVersionMatch: "Nearly" },
    code: 422,
    message: 'resourceVersionMatch: Unsupported value: "Nearly": supported values: "Exact", "NotOlderThan", ""',
  },
};

test.each(Object.entries(refused))("refuses %s", async (_, { query, code, message }) => {
  const { page } = await many(1);
  const error = await refusal(page(query));
  expect(error.code).toBe(code);
  expect(error.message).toContain(message);
});

test("built-in kinds select by their own fields and name those they do not know", async () => {
  const { client } = setup();
  const at = { namespace: "default" };
  await client.of(pods).create({ metadata: { name: "p", ...at }, spec: { containers: [{ name: "c", image: "i" }] } });
  expect(
    (await client.of(pods).list({ ...at, fieldSelector: "status.phase=Pending,spec.nodeName=" })).items,
  ).toHaveLength(1);
  expect((await client.of(pods).list({ ...at, fieldSelector: "spec.nodeName!=" })).items).toHaveLength(0);
  expect((await refusal(client.of(pods).list({ ...at, fieldSelector: "spec.foo=1" }))).message).toBe(
    "field label not supported: spec.foo",
  );
  expect((await refusal(client.of(events).list({ ...at, fieldSelector: "involvedObject.name=p" }))).code).toBe(400);
  expect((await client.of(events).list({ ...at, fieldSelector: "regarding.name=p" })).items).toEqual([]);
});

test("an exact version shows the past, any other at least as much", async () => {
  const { page, api } = await many(2);
  const before = await page({});
  await api.create(widget("x"));
  const version = before.metadata.resourceVersion;
  expect(namesOf(await page({ resourceVersion: version, resourceVersionMatch: "Exact" }))).toEqual(["w000", "w001"]);
  expect(namesOf(await page({ resourceVersion: version, resourceVersionMatch: "NotOlderThan" }))).toEqual([
    "w000",
    "w001",
    "x",
  ]);
  expect(namesOf(await page({ resourceVersion: version }))).toEqual(["w000", "w001", "x"]);
  expect(namesOf(await page({ resourceVersion: version, limit: "5" }))).toEqual(["w000", "w001"]);
  expect(namesOf(await page({ resourceVersion: "0" }))).toEqual(["w000", "w001", "x"]);
});

test("items of built-in lists carry no type, as on a real server", async () => {
  const { server } = setup();
  const list = (await server.handle({ method: "GET", path: "/api/v1/namespaces" })) as KubeList<Widget>;
  expect(list).toMatchObject({ kind: "NamespaceList", apiVersion: "v1" });
  expect(list.items[0]).not.toHaveProperty("kind");
  expect(list.items[0]).not.toHaveProperty("apiVersion");
});

test("10,000 objects are read in pages without long stalls", async () => {
  const { server, page } = await many(0);
  for (let i = 0; i < 10_000; i++) {
    await server.handle({
      method: "POST",
      path,
      body: { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: `w${i}` }, spec: { size: i } },
    });
  }
  const times: number[] = [];
  let count = 0;
  let token: string | undefined;
  do {
    const begun = process.threadCpuUsage();
    const list = await page({ limit: "500", continue: token });
    const { user, system } = process.threadCpuUsage(begun);
    times.push((user + system) / 1000);
    count += list.items.length;
    token = list.metadata.continue;
  } while (token !== undefined);
  expect(count).toBe(10_000);
  // The median of the processor time: collections of garbage come as they come.
  expect(times.sort((a, b) => a - b)[10]).toBeLessThan(50);
});
