import fc from "fast-check";
import { expect, test } from "vitest";
import type { KubeObject } from "#api/meta.ts";
import { Cache } from "#kube/cache.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";

interface Thing extends KubeObject {
  value?: string;
}

const thing = (name: string, resourceVersion: string, value = "", uid = `uid-${name}`): Thing => ({
  metadata: { name, namespace: "ns", uid, resourceVersion },
  value,
});

function setup(options: { transform?: (object: Thing) => Thing } = {}) {
  const clock = new VirtualClock();
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (message: string) => errors.push(message) };
  const cache = new Cache<Thing, "value">({
    clock,
    logger,
    freeze: true,
    indexes: { value: (object) => [object.value ?? ""] },
    ...options,
  });
  const changes: string[] = [];
  const show = (object: Thing | undefined) => (object === undefined ? "-" : object.metadata.resourceVersion);
  cache.onChange((old, next) => changes.push(`${show(old)} > ${show(next)}`));
  const version = (key = "ns/a") => cache.get(key)?.metadata.resourceVersion;
  const relist = (...objects: Thing[]) => {
    const begun = cache.beginList();
    for (const object of objects) cache.upsertListed(object);
    cache.listed(new Set(objects.map(({ metadata }) => `ns/${metadata.name}`)), begun);
  };
  return { clock, cache, changes, version, relist, errors };
}

test("listeners see additions, changes and removals with the old and the new object", () => {
  const { cache, changes } = setup();
  cache.upsert(thing("a", "1"));
  cache.upsert(thing("a", "2"));
  cache.remove(thing("a", "3"));
  expect(changes).toEqual(["- > 1", "1 > 2", "2 > -"]);
  expect(cache.size).toBe(0);
});

test("the same version again is no change", () => {
  const { cache, changes } = setup();
  cache.upsert(thing("a", "1"));
  cache.upsert(thing("a", "1"));
  expect(changes).toEqual(["- > 1"]);
});

test("another uid under the same name is a removal and an addition", () => {
  const { cache, changes } = setup();
  cache.upsert(thing("a", "1", "", "u1"));
  cache.upsert(thing("a", "5", "", "u2"));
  expect(changes).toEqual(["- > 1", "1 > -", "- > 5"]);
});

test("the removal of an earlier namesake removes nothing", () => {
  const { cache, version } = setup();
  cache.upsert(thing("a", "5", "", "u2"));
  cache.remove(thing("a", "4", "", "u1"));
  expect(version()).toBe("5");
});

test("managedFields and what the transform drops are not kept", () => {
  const { cache } = setup({ transform: ({ value: _, ...rest }) => rest });
  const full = { ...thing("a", "1", "secret"), metadata: { ...thing("a", "1").metadata, managedFields: [{}] } };
  cache.upsert(full);
  expect(cache.get("ns/a")).toEqual({ metadata: thing("a", "1").metadata });
});

test("kept objects are frozen to the depth", () => {
  const { cache } = setup();
  cache.upsert(thing("a", "1"));
  const kept = cache.get("ns/a") as Thing;
  expect(() => {
    kept.metadata.name = "b";
  }).toThrow(TypeError);
});

test("a listener that throws is logged and the others still hear", () => {
  const { cache, errors } = setup();
  const heard: string[] = [];
  cache.onChange(() => {
    throw new Error("broken listener");
  });
  cache.onChange((_, next) => heard.push(next?.metadata.name ?? ""));
  cache.upsert(thing("a", "1"));
  expect(heard).toEqual(["a"]);
  expect(errors).toEqual(["cache listener failed"]);
});

test("a change made by a listener is told after the one that it was told of", () => {
  const { cache, changes } = setup();
  const later: string[] = [];
  cache.onChange((_, next) => {
    if (next?.metadata.resourceVersion === "1") cache.noteWrite(thing("a", "2"));
  });
  cache.onChange((_, next) => later.push(next?.metadata.resourceVersion ?? "-"));
  cache.upsert(thing("a", "1"));
  expect(changes).toEqual(["- > 1", "1 > 2"]);
  expect(later).toEqual(["1", "2"]);
});

test("whenSynced waits for the first list", async () => {
  const { cache, relist } = setup();
  const waiting = cache.whenSynced();
  expect(cache.synced()).toBe(false);
  relist(thing("a", "1"));
  await waiting;
  expect(cache.synced()).toBe(true);
  await cache.whenSynced();
});

test("whenSynced ends with the signal", async () => {
  const { cache } = setup();
  const stop = new AbortController();
  const waiting = cache.whenSynced(stop.signal);
  stop.abort();
  await expect(waiting).rejects.toThrow("before the cache had synced");
});

test("a list removes what it does not contain", () => {
  const { cache, relist, changes } = setup();
  relist(thing("a", "1"), thing("b", "2"));
  relist(thing("b", "2"), thing("c", "3"));
  expect([...cache.values()].map(({ metadata }) => metadata.name)).toEqual(["b", "c"]);
  expect(changes).toEqual(["- > 1", "- > 2", "- > 3", "1 > -"]);
});

/** What happens to one object, in order; `want` is the version that is visible at the end. */
const writes: Record<string, { run: (c: ReturnType<typeof setup>) => void; want: string | undefined }> = {
  "a local write is visible at once": {
    run: ({ cache }) => {
      cache.upsert(thing("a", "1"));
      cache.noteWrite(thing("a", "5"));
    },
    want: "5",
  },
  "an older watch event does not hide a local write": {
    run: ({ cache }) => {
      cache.upsert(thing("a", "1"));
      cache.noteWrite(thing("a", "5"));
      cache.upsert(thing("a", "3"));
    },
    want: "5",
  },
  "after the written version was seen, the watch counts again": {
    run: ({ cache }) => {
      cache.upsert(thing("a", "1"));
      cache.noteWrite(thing("a", "5"));
      cache.upsert(thing("a", "3"));
      cache.upsert(thing("a", "5"));
      cache.upsert(thing("a", "6"));
    },
    want: "6",
  },
  "of two local writes the second stays visible while the watch shows the first": {
    run: ({ cache }) => {
      cache.upsert(thing("a", "1"));
      cache.noteWrite(thing("a", "5"));
      cache.noteWrite(thing("a", "7"));
      cache.upsert(thing("a", "5"));
    },
    want: "7",
  },
  "an answer that comes after the watch has shown it and more is old news": {
    run: ({ cache }) => {
      cache.upsert(thing("a", "1"));
      cache.upsert(thing("a", "5"));
      cache.upsert(thing("a", "6"));
      cache.noteWrite(thing("a", "5"));
    },
    want: "6",
  },
  "an answer that comes after the watch has shown the deletion does not bring the object back": {
    run: ({ cache }) => {
      cache.upsert(thing("a", "1"));
      cache.upsert(thing("a", "5"));
      cache.remove(thing("a", "6"));
      cache.noteWrite(thing("a", "5"));
    },
    want: undefined,
  },
  "a created object survives a list that began before it": {
    run: ({ cache }) => {
      const begun = cache.beginList();
      cache.noteWrite(thing("a", "5"));
      cache.listed(new Set(), begun);
    },
    want: "5",
  },
  "a list that began after a write and lacks the object removes it": {
    run: ({ cache, relist }) => {
      cache.noteWrite(thing("a", "5"));
      relist();
    },
    want: undefined,
  },
  "a list from before a write does not hide it": {
    run: ({ cache }) => {
      cache.upsert(thing("a", "1"));
      const begun = cache.beginList();
      cache.noteWrite(thing("a", "5"));
      cache.upsertListed(thing("a", "1"));
      cache.listed(new Set(["ns/a"]), begun);
    },
    want: "5",
  },
  "a list ends the wait for a version that it jumped over": {
    run: ({ cache, relist }) => {
      cache.upsert(thing("a", "1"));
      cache.noteWrite(thing("a", "5"));
      relist(thing("a", "9"));
      cache.upsert(thing("a", "10"));
    },
    want: "10",
  },
  "a version that never comes is waited for ten seconds, then what was held back counts": {
    run: ({ cache, clock }) => {
      cache.upsert(thing("a", "1"));
      cache.noteWrite(thing("a", "5"));
      cache.upsert(thing("a", "8"));
      cache.upsert(thing("a", "9"));
      clock.advance(10_000);
    },
    want: "9",
  },
  "what a write has replaced does not come back, however late the watch is": {
    run: ({ cache, clock, relist }) => {
      relist(thing("a", "3"));
      cache.noteWrite(thing("a", "5"), "3");
      cache.upsert(thing("a", "2"));
      cache.upsert(thing("a", "3"));
      clock.advance(60_000);
    },
    want: "5",
  },
  "a write that replaced another version than the visible one may be old news: what was visible wins after ten seconds":
    {
      run: ({ cache, clock, relist }) => {
        relist(thing("a", "8"));
        cache.noteWrite(thing("a", "5"), "3");
        clock.advance(10_000);
      },
      want: "8",
    },
  "a deletion that the watch shows counts at once": {
    run: ({ cache }) => {
      cache.upsert(thing("a", "1"));
      cache.noteWrite(thing("a", "5"));
      cache.remove(thing("a", "6"));
    },
    want: undefined,
  },
  "a created namesake is visible while the watch still shows the end of the old one": {
    run: ({ cache }) => {
      cache.upsert(thing("a", "1", "", "u1"));
      cache.noteWrite(thing("a", "5", "", "u2"));
      cache.upsert(thing("a", "2", "", "u1"));
      cache.remove(thing("a", "3", "", "u1"));
      cache.upsert(thing("a", "5", "", "u2"));
    },
    want: "5",
  },
};

test.each(Object.entries(writes))("%s", (_, { run, want }) => {
  const context = setup();
  run(context);
  expect(context.version()).toBe(want);
  context.cache.close();
  expect(context.clock.pending).toBe(0);
});

test("a write that is noted after the end starts no timer: a process that is done can end", () => {
  const { cache, clock, relist } = setup();
  relist(thing("a", "1"));
  cache.close();
  cache.noteWrite(thing("a", "2"));
  expect(clock.pending).toBe(0);
});

test("an accepted deletion marks the object until the watch shows its end, and older events do not undo that", () => {
  const { cache } = setup();
  cache.upsert(thing("a", "1"));
  cache.noteDelete(thing("a", "1"));
  expect(cache.get("ns/a")?.metadata.deletionTimestamp).toBe("2026-01-01T00:00:00.000Z");
  cache.upsert(thing("a", "2"));
  expect(cache.get("ns/a")?.metadata).toMatchObject({ resourceVersion: "1", deletionTimestamp: expect.any(String) });
  const terminating = thing("a", "3");
  terminating.metadata.deletionTimestamp = "2026-01-01T00:00:30Z";
  cache.upsert(terminating);
  expect(cache.get("ns/a")?.metadata.deletionTimestamp).toBe("2026-01-01T00:00:30Z");
  cache.remove(thing("a", "4"));
  expect(cache.size).toBe(0);
  cache.upsert(thing("a", "5", "", "u2"));
  expect(cache.get("ns/a")?.metadata.deletionTimestamp).toBeUndefined();
});

test("the end of a deletion is seen although it was accepted before the watch had shown the write before it", () => {
  const { cache, relist } = setup();
  relist(thing("a", "1"));
  cache.noteWrite(thing("a", "2"), "1");
  cache.noteDelete(thing("a", "2"));
  cache.upsert(thing("a", "2"));
  const terminating = thing("a", "3");
  terminating.metadata.deletionTimestamp = "2026-01-01T00:00:30Z";
  cache.upsert(terminating);
  expect(cache.get("ns/a")?.metadata).toMatchObject({
    resourceVersion: "3",
    deletionTimestamp: "2026-01-01T00:00:30Z",
  });
});

test("a deletion of another uid marks nothing", () => {
  const { cache } = setup();
  cache.upsert(thing("a", "1"));
  cache.noteDelete(thing("a", "1", "", "other"));
  expect(cache.get("ns/a")?.metadata.deletionTimestamp).toBeUndefined();
});

/**
 * One server that changes objects, a watch that runs behind it, answers of local writes that arrive late, and lists
 * whose snapshot is taken at some moment between request and answer.
 */
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("foreign write" as const), name: fc.constantFrom("a", "b") }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("local write" as const), name: fc.constantFrom("a", "b") }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("conditional write" as const), name: fc.constantFrom("a", "b") }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("foreign delete" as const), name: fc.constantFrom("a", "b") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("local delete" as const), name: fc.constantFrom("a", "b") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("held deletion" as const), name: fc.constantFrom("a", "b") }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("watch event" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("answer" as const), pick: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("begin list" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("end list" as const) }) },
);

test("whatever the order of writes, answers, watch events and lists: the cache ends equal to the server", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { cache, clock } = setup();
      const server = new Map<string, Thing>();
      const log: { type: "set" | "del"; object: Thing }[] = [];
      const answers: (() => void)[] = [];
      let watched = 0;
      let version = 0;
      let uids = 0;
      let list: { begun: number; objects: Thing[]; at: number } | undefined;

      const write = (name: string): Thing => {
        const uid = server.get(name)?.metadata.uid ?? `u${++uids}`;
        const object = thing(name, String(++version), String(version % 3), uid);
        const { deletionTimestamp } = server.get(name)?.metadata ?? {};
        if (deletionTimestamp !== undefined) object.metadata.deletionTimestamp = deletionTimestamp;
        server.set(name, object);
        log.push({ type: "set", object });
        return object;
      };
      const watch = () => {
        const event = log[watched];
        if (event === undefined) return;
        watched++;
        if (event.type === "set") cache.upsert(event.object);
        else cache.remove(event.object);
      };

      for (const { do: what, ...rest } of steps) {
        const name = "name" in rest ? rest.name : "a";
        if (what === "foreign write") write(name);
        else if (what === "local write") {
          const written = write(name);
          answers.push(() => cache.noteWrite(written));
        } else if (what === "conditional write") {
          const basis = cache.get(`ns/${name}`)?.metadata.resourceVersion;
          if (basis === undefined || server.get(name)?.metadata.resourceVersion !== basis) continue; // a conflict
          const written = write(name);
          answers.push(() => cache.noteWrite(written, basis));
        } else if (what === "foreign delete" || what === "local delete") {
          const object = server.get(name);
          if (object === undefined) continue;
          server.delete(name);
          log.push({ type: "del", object: thing(name, String(++version), object.value, object.metadata.uid) });
          if (what === "local delete") answers.push(() => cache.noteDelete(object));
        } else if (what === "held deletion") {
          // A finalizer keeps it, so the deletion makes a new version of it.
          const object = server.get(name);
          if (object === undefined) continue;
          answers.push(() => cache.noteDelete(object));
          if (object.metadata.deletionTimestamp !== undefined) continue;
          const marked = thing(name, String(++version), object.value, object.metadata.uid);
          marked.metadata.deletionTimestamp = "2026-01-01T00:00:30Z";
          server.set(name, marked);
          log.push({ type: "set", object: marked });
        } else if (what === "watch event" && list === undefined) watch();
        else if (what === "answer") {
          const [answer] = answers.splice("pick" in rest ? rest.pick : 0, 1);
          answer?.();
        } else if (what === "begin list" && list === undefined) {
          list = { begun: cache.beginList(), objects: [...server.values()], at: log.length };
        } else if (what === "end list" && list !== undefined) {
          for (const object of list.objects) cache.upsertListed(object);
          cache.listed(new Set(list.objects.map(({ metadata }) => `ns/${metadata.name}`)), list.begun);
          watched = Math.max(watched, list.at);
          list = undefined;
        }
      }
      for (const answer of answers) answer();
      while (watched < log.length) watch();
      clock.advance(60_000);

      const versions = (objects: Iterable<Thing>) =>
        Object.fromEntries([...objects].map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
      expect(versions(cache.values())).toEqual(versions(server.values()));
      const marks = (objects: Iterable<Thing>) =>
        Object.fromEntries([...objects].map(({ metadata }) => [metadata.name, metadata.deletionTimestamp]));
      expect(marks(cache.values())).toEqual(marks(server.values()));
      for (const value of ["0", "1", "2"]) {
        const found = cache.byIndex("value", value).map(({ metadata }) => metadata.name);
        const wanted = [...server.values()].filter((object) => object.value === value);
        expect(found.sort()).toEqual(wanted.map(({ metadata }) => metadata.name).sort());
      }
      expect(clock.pending).toBe(0);
    }),
    { numRuns: 2000 },
  );
});
