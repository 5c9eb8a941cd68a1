import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { configMaps, leases } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { eventually } from "#kube/testing/eventually.ts";
import { RoughServer } from "#kube/testing/rough-server.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { runComponent, untilAborted, type Work } from "./component.ts";
import { single } from "./metrics.ts";

const lease = { namespace: "platform", name: "kruntimes-scheduler" };

let directory: string;
let server: RoughServer;
const stops: AbortController[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "component-"));
  await writeFile(join(directory, "token"), "t");
  server = await new RoughServer().start();
});
afterEach(async () => {
  for (const stop of stops.splice(0)) stop.abort();
  await server.stop();
  await rm(directory, { recursive: true });
});

const freePort = () =>
  new Promise<number>((resolve) => {
    const probe = createServer().listen(0, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });

/** A replica; its work begins with `begin` and lasts until it has to end. */
async function replica(clock: VirtualClock, leaderElect = true, begin: (work: Work) => Promise<void> = async () => {}) {
  const port = await freePort();
  const stop = new AbortController();
  stops.push(stop);
  const state: { work: Work | undefined; ended: boolean | undefined } = { work: undefined, ended: undefined };
  const ended = runComponent({
    name: "scheduler",
    flags: { port, leaderElect, namespace: "platform", logLevel: "info" },
    env: {
      KRUNTIMES_API_SERVER: server.url,
      KRUNTIMES_TOKEN_FILE: join(directory, "token"),
      POD_NAME: `pod-${port}`,
    },
    clock,
    random: seededRandom(port),
    logger: silentLogger,
    shutdown: stop.signal,
    async work(work) {
      state.work = work;
      await begin(work);
      work.started();
      await untilAborted(work.signal);
    },
  }).then((asked) => {
    state.ended = asked;
  });
  const get = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: answer.status, text: await answer.text() };
  };
  return { state, ended, get, stop: () => stop.abort() };
}

/** Lets virtual time pass until it holds; the network takes its own time. */
const until = (clock: VirtualClock, what: string, holds: () => boolean | Promise<boolean>) =>
  eventually(what, async () => {
    await clock.elapse(250);
    return holds();
  });

const storedLease = (clock: VirtualClock) => createClient(memoryTransport(server.api, clock)).of(leases).get(lease);

test("one replica works, the other stands by ready, and takes over when the first ends", async () => {
  const clock = new VirtualClock();
  const first = await replica(clock);
  await until(clock, "the first works", () => first.state.work !== undefined);
  const second = await replica(clock);
  expect((await second.get("/readyz")).status).toBe(200);
  expect((await first.get("/metrics")).text).toContain("\nkruntimes_leader 1\n");
  expect((await second.get("/metrics")).text).toContain("\nkruntimes_leader 0\n");
  expect((await storedLease(clock)).spec?.holderIdentity).toMatch(/^pod-[0-9]+_/);

  first.stop();
  await until(clock, "the first ended", () => first.state.ended === true);
  const at = clock.monotonic();
  await until(clock, "the second works", () => second.state.work !== undefined);
  // It was given back, not left to expire.
  expect(clock.monotonic() - at).toBeLessThan(5000);
});

test("a replica that loses its Lease can write nothing more, and ends to begin anew", async () => {
  const clock = new VirtualClock();
  const one = await replica(clock);
  await until(clock, "it works", () => one.state.work !== undefined);
  const stored = await storedLease(clock);
  await createClient(memoryTransport(server.api, clock))
    .of(leases)
    .update({ ...stored, spec: { ...stored.spec, holderIdentity: "somebody-else" } });
  await until(clock, "it ended", () => one.state.ended !== undefined);
  expect(one.state.ended).toBe(false);
  const write = one.state.work?.client.of(configMaps).create({ metadata: { name: "late", namespace: "platform" } });
  await expect(write).rejects.toThrow("the right to do so has ended");
});

test("it is not ready while its caches are being filled", async () => {
  const clock = new VirtualClock();
  let filled = () => {};
  const filling = new Promise<void>((resolve) => {
    filled = resolve;
  });
  const one = await replica(clock, true, () => filling);
  await until(clock, "it works", () => one.state.work !== undefined);
  expect(await one.get("/readyz")).toEqual({ status: 503, text: "not ready: the caches are not filled yet\n" });
  expect((await one.get("/healthz")).status).toBe(200);
  filled();
  await until(clock, "it is ready", async () => (await one.get("/readyz")).status === 200);
});

test("without leader election it works at once and takes no Lease", async () => {
  const clock = new VirtualClock();
  const one = await replica(clock, false, async ({ showMetrics }) => {
    showMetrics(() => [single("kruntimes_shown", "gauge", "Shown.", 7)]);
  });
  await until(clock, "it works", () => one.state.work !== undefined);
  await expect(storedLease(clock)).rejects.toMatchObject({ code: 404 });
  const { text } = await one.get("/metrics");
  expect(text).toContain("\nkruntimes_shown 7\n");
  expect(text).toMatch(/\nprocess_resident_memory_bytes [0-9]+\n/);
  one.stop();
  await until(clock, "it ended", () => one.state.ended === true);
});
