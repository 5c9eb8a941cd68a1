import fc from "fast-check";
import { expect, test } from "vitest";
import { listAt } from "../snapshot.ts";
import type { Storage } from "../storage.ts";
import type { Draft } from "../types.ts";

const draft = (namespace: string, name: string, value = 0): Draft => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name, namespace, uid: `${namespace}-${name}` },
  value,
});

const keyOf = (namespace: string, name: string) => ({ resource: "things", namespace, name });
const names = (objects: Iterable<{ metadata: { namespace?: string; name: string } }>): string[] =>
  [...objects].map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);

/**
 * What every storage keeps to.
 *
 * @param create an empty storage that keeps so many changes of each resource
 */
export function describeStorage(create: (historyLength: number) => Storage): void {
  test("every change gets the next revision, which becomes the version of the object", () => {
    const storage = create(10);
    const first = storage.put("things", draft("a", "x"));
    const second = storage.put("others", draft("a", "x"));
    expect(first.object.metadata.resourceVersion).toBe(String(first.revision));
    expect(second.revision).toBe(first.revision + 1);
    const removed = storage.delete(keyOf("a", "x"));
    expect(removed.object.metadata.resourceVersion).toBe(String(second.revision + 1));
    expect(removed.previous).toBe(first.object);
    expect(storage.get(keyOf("a", "x"))).toBeUndefined();
  });

  test("stored objects are frozen all the way down", () => {
    const storage = create(10);
    const { object } = storage.put("things", { ...draft("a", "x"), spec: { list: [{ deep: 1 }] } });
    expect(() => {
      (object.spec as { list: { deep: number }[] }).list[0] = { deep: 2 };
    }).toThrow(TypeError);
  });

  test("lists are in the order of namespace and name, as in etcd", () => {
    const storage = create(10);
    for (const [namespace, name] of [
      ["b", "a"],
      ["a-b", "x"],
      ["a", "b"],
      ["a", "a"],
      ["a", "a-b"],
    ] as const) {
      storage.put("things", draft(namespace, name));
    }
    expect(names(storage.list("things"))).toEqual(["a-b/x", "a/a", "a/a-b", "a/b", "b/a"]);
    expect(names(storage.list("things", "a"))).toEqual(["a/a", "a/a-b", "a/b"]);
    expect(names(storage.list("things", undefined, { namespace: "a", name: "a" }))).toEqual(["a/a-b", "a/b", "b/a"]);
    expect(names(storage.list("things", "missing"))).toEqual([]);
    expect(storage.count("things")).toBe(5);
    expect(storage.count("things", "a")).toBe(3);
  });

  test("history that was forgotten is told apart from no changes", () => {
    const storage = create(3);
    const start = storage.revision;
    for (let i = 0; i < 6; i++) storage.put("things", draft("a", "x", i));
    expect(storage.changes("things", start)).toBeUndefined();
    expect(storage.changes("things", storage.revision)).toEqual([]);
    expect(storage.changes("things", storage.revision - 2)).toHaveLength(2);
    storage.compact(storage.revision);
    expect(storage.changes("things", storage.revision - 1)).toBeUndefined();
    expect(storage.changes("things", storage.revision)).toEqual([]);
  });

  test("a list goes on behind a place whose namespace has gone meanwhile", () => {
    const storage = create(10);
    for (const namespace of ["a", "b", "c"]) storage.put("things", draft(namespace, "x"));
    storage.delete(keyOf("b", "x"));
    const place = { namespace: "b", name: "x" };
    expect(names(storage.list("things", undefined, place))).toEqual(["c/x"]);
    expect(storage.count("things", undefined, place)).toBe(1);
  });

  const operation = fc.record({
    namespace: fc.constantFrom("a", "b"),
    name: fc.constantFrom("x", "y", "z"),
    remove: fc.boolean(),
  });

  test("the state at any earlier revision can be listed, from any place on", () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 30 }), fc.nat(), fc.nat(), (operations, pickRevision, pickPlace) => {
        const storage = create(1000);
        const states = [{ revision: storage.revision, objects: [...storage.list("things")] }];
        operations.forEach(({ namespace, name, remove }, index) => {
          const key = keyOf(namespace, name);
          if (!remove) storage.put("things", draft(namespace, name, index));
          else if (storage.get(key) !== undefined) storage.delete(key);
          states.push({ revision: storage.revision, objects: [...storage.list("things")] });
        });
        const state = states[pickRevision % states.length];
        if (state === undefined) throw new Error("no state");
        expect([...(listAt(storage, "things", undefined, state.revision) ?? [])]).toEqual(state.objects);
        const last = state.objects[pickPlace % Math.max(1, state.objects.length)];
        if (last === undefined) return;
        const place = { namespace: last.metadata.namespace ?? "", name: last.metadata.name };
        const rest = state.objects.slice(state.objects.indexOf(last) + 1);
        expect(storage.count("things", undefined, place)).toBe([...storage.list("things", undefined, place)].length);
        expect(storage.count("things", "a", place)).toBe([...storage.list("things", "a", place)].length);
        expect([...(listAt(storage, "things", undefined, state.revision, place) ?? [])]).toEqual(rest);
      }),
    );
  });
}
