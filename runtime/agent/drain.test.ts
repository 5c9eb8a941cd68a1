import { expect, test } from "vitest";
import { namespaces, type Pod, pods } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { TinyApi } from "#kube/testing/tiny-api.ts";
import { type ApiRequest, TransportError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { createDrain } from "./drain.ts";

const drainMs = 60_000;
const self = { pod: "p", podUid: "", namespace: "n", runtime: "bash", runtimeUid: "r", capacity: { runs: 1 } };

async function arrange(change: { deleted?: boolean; namespaceDeleted?: boolean; otherUid?: boolean } = {}) {
  const clock = new VirtualClock();
  const api = new TinyApi();
  const client = createClient(memoryTransport(api, clock));
  // Finalizers keep what is being deleted.
  const finalizers = ["example.com/kept"];
  await client.of(namespaces).create({ metadata: { name: "n", finalizers } });
  const pod: Pod = { metadata: { name: "p", namespace: "n", finalizers }, spec: { containers: [] } };
  const { uid = "" } = (await client.of(pods).create(pod)).metadata;
  if (change.deleted) await client.of(pods).delete({ name: "p", namespace: "n" });
  if (change.namespaceDeleted) await client.of(namespaces).delete({ name: "n" });
  const drains: number[] = [];
  const agent = {
    drain: async (ms: number) => {
      drains.push(ms);
      await new Promise<void>((resolve) => clock.after(Math.min(ms, 5000), resolve));
    },
  };
  const podUid = change.otherUid ? "another" : uid;
  const drain = createDrain({ client, clock, logger: silentLogger, self: { ...self, podUid } }, agent, drainMs);
  /** The answer, and how long it took. */
  async function ask(): Promise<{ answer: string; ms: number }> {
    const begun = clock.monotonic();
    let answer: string | undefined;
    void drain.request().then((text) => {
      answer = text;
    });
    while (answer === undefined) await clock.elapse(100);
    return { answer, ms: clock.monotonic() - begun };
  }
  return { api, client, clock, drain, drains, ask };
}

const readsOf = (api: TinyApi) => api.requests.filter(({ path }) => path.endsWith("/pods/p")).length;

test("a Pod that is being deleted drains for as long as is left", async () => {
  const { drain, drains, ask } = await arrange({ deleted: true });
  expect(await ask()).toMatchObject({ answer: "drained" });
  expect(drains).toEqual([drainMs]);
  expect(drain.confirmed).toBe("deleted");
});

test("a Pod that stays is not drained, whoever calls", async () => {
  const { drain, drains, ask } = await arrange();
  expect(await ask()).toMatchObject({ answer: "Pod p is not being deleted" });
  expect(drains).toEqual([]);
  expect(drain.confirmed).toBeUndefined();
});

test("a Pod that stays now may be deleted later", async () => {
  const { client, drains, ask } = await arrange();
  await ask();
  await client.of(pods).delete({ name: "p", namespace: "n" });
  expect(await ask()).toMatchObject({ answer: "drained" });
  expect(drains).toEqual([drainMs]);
});

test("a Pod that was removed, or replaced by one of the same name, is deleted", async () => {
  const { drains, ask } = await arrange({ otherUid: true });
  expect(await ask()).toMatchObject({ answer: "drained" });
  expect(drains).toEqual([drainMs]);
});

test("in a namespace that goes away nothing is waited for", async () => {
  const { drain, drains, ask } = await arrange({ deleted: true, namespaceDeleted: true });
  expect((await ask()).ms).toBeLessThan(1000);
  expect(drains).toEqual([0]);
  expect(drain.confirmed).toBe("namespace-deleted");
});

test("an agent that may not read its namespace drains as usual", async () => {
  const { api, drains, ask } = await arrange({ deleted: true });
  api.before = ({ path }: ApiRequest) => {
    if (path.endsWith("/namespaces/n")) throw new TransportError("away");
  };
  await ask();
  expect(drains).toEqual([drainMs]);
});

test("while the API server is away the question stays open, and what it took is no longer left for the drain", async () => {
  const { api, drains, ask } = await arrange({ deleted: true });
  let failures = 10;
  api.before = ({ path }: ApiRequest) => {
    if (path.endsWith("/pods/p") && failures-- > 0) throw new TransportError("away");
  };
  expect(await ask()).toMatchObject({ answer: "drained" });
  expect(drains[0]).toBeLessThanOrEqual(drainMs - 10_000);
  expect(drains[0]).toBeGreaterThan(drainMs - 12_000);
});

test("an API server that does not come back lets the Pod go on until the drain timeout", async () => {
  const { api, drain, drains, ask } = await arrange({ deleted: true });
  api.before = () => {
    throw new TransportError("away");
  };
  const { answer, ms } = await ask();
  expect(answer).toContain("not confirmed");
  expect(ms).toBeGreaterThan(drainMs - 3000);
  expect(ms).toBeLessThanOrEqual(drainMs);
  expect(drains).toEqual([]);
  expect(drain.confirmed).toBeUndefined();
});

test("callers at one time share one drain", async () => {
  const { api, clock, drain, drains } = await arrange({ deleted: true });
  const before = readsOf(api);
  const all = Promise.all([drain.request(), drain.request(), drain.request()]);
  await clock.elapse(10_000);
  expect(await all).toEqual(["drained", "drained", "drained"]);
  expect(drains).toHaveLength(1);
  expect(readsOf(api) - before).toBe(1);
});
