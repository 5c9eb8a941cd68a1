import { expect, test } from "vitest";
import { seededRandom } from "#kube/seeded-random.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { Semaphore } from "#runtime/agent/semaphore.ts";
import { impatientStore } from "#runtime/artifacts/impatient-store.ts";
import { createMemoryStore } from "#runtime/artifacts/memory-store.ts";
import { type ArtifactStore, StoreUnavailableError } from "#runtime/artifacts/store.ts";

const target = { runUid: "u", name: "a" };
const options = { maxBytes: 1000 };
const owner = { clusterUid: "c", namespace: "n" };

function make(change: Partial<ArtifactStore> = {}) {
  const clock = new VirtualClock();
  const memory = createMemoryStore({ owner, random: seededRandom(1), now: () => clock.now() });
  const store: ArtifactStore = {
    driver: memory.driver,
    put: (...args) => memory.put(...args),
    open: (ref) => memory.open(ref),
    stat: (ref) => memory.stat(ref),
    list: () => memory.list(),
    delete: (uid) => memory.delete(uid),
    ...change,
  };
  const abort = new AbortController();
  const held: Promise<unknown>[] = [];
  const impatience = {
    clock,
    signal: abort.signal,
    stallMs: () => 60_000,
    hold: (work: Promise<unknown>) => held.push(work),
  };
  return { clock, memory, abort, held, store: impatientStore(store, impatience) };
}

async function* bytes(count: number, before: () => Promise<void> = async () => {}) {
  for (let n = 0; n < count; n++) {
    await before();
    yield Buffer.from("x");
  }
}

/** The error of a promise, which is looked at from the beginning. */
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

test("what is put can be opened and read", async () => {
  const { store } = make();
  const { location } = await store.put(target, bytes(3), options);
  const opened = await store.open({ driver: "Filesystem", location });
  const read: Uint8Array[] = [];
  for await (const chunk of opened.read()) read.push(chunk);
  await opened.close();
  expect(Buffer.concat(read).toString()).toBe("xxx");
});

test("a transfer that is slow, but goes on, may take as long as it takes", async () => {
  const { clock, store } = make();
  const step = () => new Promise<void>((resolve) => clock.after(50_000, resolve));
  const stored = store.put(target, bytes(20, step), options);
  await clock.elapse(20 * 50_000);
  expect((await stored).sizeBytes).toBe(20);
});

test("a store in which nothing moves is given up, and what it gives later is closed", async () => {
  const late = Promise.withResolvers<void>();
  let closed = 0;
  const { clock, store, held } = make({
    async open() {
      await late.promise;
      return { sizeBytes: 1, read: () => bytes(1), close: async () => void closed++ };
    },
  });
  const error = errorOf(store.open({ driver: "Filesystem", location: {} }));
  await clock.elapse(60_000);
  expect(await error).toBeInstanceOf(StoreUnavailableError);
  expect(closed).toBe(0);
  late.resolve();
  await Promise.all(held);
  expect(closed).toBe(1);
});

test("aborted, a call ends with the reason of the signal at once, and the next one does not begin", async () => {
  const { store, abort } = make({ put: () => new Promise(() => {}) });
  const error = errorOf(store.put(target, bytes(1), options));
  abort.abort(new Error("not wanted"));
  expect(await error).toEqual(new Error("not wanted"));
  await expect(store.stat({ driver: "Filesystem", location: {} })).rejects.toThrow("not wanted");
});

test("the place of a transfer is kept until what was begun has ended", async () => {
  const semaphore = new Semaphore(1);
  const { signal } = new AbortController();
  const begun = Promise.withResolvers<void>();
  await semaphore.run(async (hold) => hold(begun.promise), signal);
  let entered = false;
  const next = semaphore.run(async () => {
    entered = true;
  }, signal);
  await new Promise((resolve) => setImmediate(resolve));
  expect(entered).toBe(false);
  begun.resolve();
  await next;
  expect(entered).toBe(true);
});
