import { expect, test } from "vitest";
import type { KubeObject, OwnerReference } from "#api/meta.ts";
import { configMaps, namespaces, pods } from "#kube/builtin.ts";
import { createMemoryStorage } from "./memory-storage.ts";
import { type Setup, setup, type Widget, widget, widgets } from "./testing/setup.ts";

const ns = { namespace: "default" };

/** Lets the background work run: it needs no timers, only other promises' turns. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const owned = (owner: KubeObject, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  name: owner.metadata.name,
  uid: owner.metadata.uid ?? "",
  ...more,
});

const child = (name: string, ...ownerReferences: OwnerReference[]): Widget => widget(name, {}, { ownerReferences });

async function names({ client }: Setup): Promise<string[]> {
  await settled();
  return (await client.of(widgets).list(ns)).items.map(
    ({ metadata }) => `${metadata.name}${metadata.deletionTimestamp === undefined ? "" : " leaving"}`,
  );
}

test("what a deleted object owned goes too, level by level", async () => {
  const made = setup();
  const api = made.client.of(widgets);
  const root = await api.create(widget("root"));
  const middle = await api.create(child("middle", owned(root)));
  await api.create(child("leaf", owned(middle)));
  await api.create(widget("other"));
  await api.delete({ name: "root", ...ns });
  expect(await names(made)).toEqual(["other"]);
});

test("kinds may own each other across groups", async () => {
  const made = setup();
  const owner = await made.client.of(widgets).create(widget("owner"));
  await made.client.of(configMaps).create({ metadata: { name: "c", ...ns, ownerReferences: [owned(owner)] } });
  await made.client.of(widgets).delete({ name: "owner", ...ns });
  await settled();
  expect((await made.client.of(configMaps).list(ns)).items).toEqual([]);
});

test("an object whose owner is absent, or a namesake, does not stay", async () => {
  const made = setup();
  const api = made.client.of(widgets);
  const owner = await api.create(widget("owner"));
  await api.create(child("orphan", owned(owner, { name: "never-was" })));
  await api.create(child("impostor", owned(owner, { uid: "other" })));
  await api.create(child("true", owned(owner)));
  expect(await names(made)).toEqual(["owner", "true"]);
});

test("an owner of a kind that is not served counts as present", async () => {
  const made = setup();
  await made.client.of(widgets).create(child("a", { apiVersion: "apps/v1", kind: "Deployment", name: "d", uid: "1" }));
  expect(await names(made)).toEqual(["a"]);
});

test("one of two owners is enough to stay; the reference to the other goes", async () => {
  const made = setup();
  const api = made.client.of(widgets);
  const first = await api.create(widget("first"));
  const second = await api.create(widget("second"));
  await api.create(child("both", owned(first), owned(second)));
  await api.delete({ name: "first", ...ns });
  expect(await names(made)).toEqual(["both", "second"]);
  expect((await api.get({ name: "both", ...ns })).metadata.ownerReferences).toEqual([owned(second)]);
});

test("a finalizer keeps a dependent until it is removed", async () => {
  const made = setup();
  const api = made.client.of(widgets);
  const owner = await api.create(widget("owner"));
  await api.create({
    ...child("kept", owned(owner)),
    metadata: { name: "kept", ...ns, ownerReferences: [owned(owner)], finalizers: ["example.com/x"] },
  });
  await api.delete({ name: "owner", ...ns });
  expect(await names(made)).toEqual(["kept leaving"]);
  await api.patch({ name: "kept", ...ns }, { metadata: { finalizers: null } });
  expect(await names(made)).toEqual([]);
});

test("Pods of a deleted owner get their grace", async () => {
  const made = setup();
  const owner = await made.client.of(widgets).create(widget("owner"));
  const at = { name: "p", ...ns };
  await made.client.of(pods).create({
    metadata: { ...at, ownerReferences: [owned(owner)] },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  await made.server.handle({
    method: "POST",
    path: "/api/v1/namespaces/default/pods/p/binding",
    body: { target: { name: "n" } },
  });
  await made.client.of(widgets).delete({ name: "owner", ...ns });
  await settled();
  expect((await made.client.of(pods).get(at)).metadata.deletionGracePeriodSeconds).toBe(30);
});

test("Orphan lets go of dependents first, then deletes the owner", async () => {
  const made = setup();
  const api = made.client.of(widgets);
  const owner = await api.create(widget("owner"));
  await api.create(child("child", owned(owner)));
  await api.delete({ name: "owner", ...ns }, { propagationPolicy: "Orphan" });
  expect(await names(made)).toEqual(["child"]);
  expect((await api.get({ name: "child", ...ns })).metadata.ownerReferences).toBeUndefined();
});

test("Foreground keeps the owner until the dependents that block it are gone", async () => {
  const made = setup();
  const api = made.client.of(widgets);
  const owner = await api.create(widget("owner"));
  const blocking = owned(owner, { blockOwnerDeletion: true });
  await api.create({
    ...child("blocks", blocking),
    metadata: { name: "blocks", ...ns, ownerReferences: [blocking], finalizers: ["example.com/x"] },
  });
  await api.create({
    ...child("free", owned(owner)),
    metadata: { name: "free", ...ns, ownerReferences: [owned(owner)], finalizers: ["example.com/x"] },
  });
  await api.create(child("quick", blocking));
  await api.delete({ name: "owner", ...ns }, { propagationPolicy: "Foreground" });
  expect(await names(made)).toEqual(["blocks leaving", "free leaving", "owner leaving"]);
  expect((await api.get({ name: "owner", ...ns })).metadata.finalizers).toEqual(["foregroundDeletion"]);
  await api.patch({ name: "blocks", ...ns }, { metadata: { finalizers: null } });
  expect(await names(made)).toEqual(["free leaving"]);
});

test("Foreground goes down the levels", async () => {
  const made = setup();
  const api = made.client.of(widgets);
  const root = await api.create(widget("root"));
  const middle = await api.create(child("middle", owned(root, { blockOwnerDeletion: true })));
  await api.create({
    ...widget("leaf"),
    metadata: {
      name: "leaf",
      ...ns,
      ownerReferences: [owned(middle, { blockOwnerDeletion: true })],
      finalizers: ["example.com/x"],
    },
  });
  await api.delete({ name: "root", ...ns }, { propagationPolicy: "Foreground" });
  expect(await names(made)).toEqual(["leaf leaving", "middle leaving", "root leaving"]);
  await api.patch({ name: "leaf", ...ns }, { metadata: { finalizers: null } });
  expect(await names(made)).toEqual([]);
});

test("Foreground without dependents is an ordinary deletion", async () => {
  const made = setup();
  await made.client.of(widgets).create(widget("owner"));
  await made.client.of(widgets).delete({ name: "owner", ...ns }, { propagationPolicy: "Foreground" });
  expect(await names(made)).toEqual([]);
});

test("a circle of owners ends when one of them is deleted", async () => {
  const made = setup();
  const api = made.client.of(widgets);
  const a = await api.create(widget("a"));
  const b = await api.create(child("b", owned(a)));
  await api.patch({ name: "a", ...ns }, { metadata: { ownerReferences: [owned(b)] } });
  await api.delete({ name: "a", ...ns });
  expect(await names(made)).toEqual([]);
});

test("a circle of owners that block each other ends in the foreground too", async () => {
  const made = setup();
  const api = made.client.of(widgets);
  const a = await api.create(widget("a"));
  const b = await api.create(child("b", owned(a, { blockOwnerDeletion: true })));
  const c = await api.create(child("c", owned(b, { blockOwnerDeletion: true })));
  await api.patch({ name: "a", ...ns }, { metadata: { ownerReferences: [owned(c, { blockOwnerDeletion: true })] } });
  await api.delete({ name: "a", ...ns }, { propagationPolicy: "Foreground" });
  expect(await names(made)).toEqual([]);
});

test("an object may own itself and still be deleted", async () => {
  const made = setup();
  const api = made.client.of(widgets);
  const a = await api.create(widget("a"));
  await api.patch({ name: "a", ...ns }, { metadata: { ownerReferences: [owned(a)] } });
  expect(await names(made)).toEqual(["a"]);
  await api.delete({ name: "a", ...ns });
  expect(await names(made)).toEqual([]);
});

test("a namespace may own what is inside", async () => {
  const made = setup();
  const space = await made.client.of(namespaces).create({ metadata: { name: "space" } });
  const reference = { apiVersion: "v1", kind: "Namespace", name: "space", uid: space.metadata.uid ?? "" };
  await made.client.of(widgets).create(widget("inside", {}, { namespace: "space", ownerReferences: [reference] }));
  await settled();
  expect((await made.client.of(widgets).list({ namespace: "space" })).items).toHaveLength(1);
});

test("a server that starts on filled storage finishes what another had begun", async () => {
  const storage = createMemoryStorage(100);
  const before = setup({ storage });
  const owner = await before.client.of(widgets).create(widget("owner"));
  await before.client.of(widgets).create(child("child", owned(owner)));
  // The process dies between the deletion of the owner and that of its dependents.
  storage.delete({ resource: "widgets.example.com", namespace: "default", name: "owner" });
  const after = setup({ storage });
  expect(await names(after)).toEqual([]);
});

test("1,000 dependents go with their owner", async () => {
  const made = setup();
  const api = made.client.of(widgets);
  const owner = await api.create(widget("owner"));
  for (let i = 0; i < 1000; i++) await api.create(child(`child-${i}`, owned(owner)));
  await api.delete({ name: "owner", ...ns });
  expect(await names(made)).toEqual([]);
});
