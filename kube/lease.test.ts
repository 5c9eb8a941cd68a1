import fc from "fast-check";
import { expect, test } from "vitest";
import { type Lease, leases } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { createLeaseElection, type Leadership, type LeaseOptions } from "#kube/lease.ts";
import { memoryTransport } from "#kube/memory.ts";
import { type Clock, sleep } from "#kube/ports.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { TinyApi } from "#kube/testing/tiny-api.ts";
import { type ApiRequest, TransportError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";

const ref = { namespace: "system", name: "scheduler" };

function cluster() {
  const clock = new VirtualClock();
  const api = new TinyApi();
  const direct = createClient(memoryTransport(api, clock)).of(leases);
  const stored = async () => (await direct.get(ref)) as Lease;
  /** A process with its own wall clock, wrong by `skewMs`. */
  function member(identity: string, skewMs = 0, options: Partial<LeaseOptions> = {}) {
    const own: Clock = {
      now: () => clock.now() + skewMs,
      monotonic: () => clock.monotonic(),
      after: (ms, fn) => clock.after(ms, fn),
    };
    const client = createClient(memoryTransport(api, own));
    const random = seededRandom(skewMs + identity.length);
    const election = createLeaseElection({
      client,
      ...ref,
      identity,
      clock: own,
      random,
      logger: silentLogger,
      ...options,
    });
    const stop = new AbortController();
    let leadership: Leadership | undefined;
    const state = { terms: 0 };
    const run = () =>
      election.run(async (granted) => {
        leadership = granted;
        state.terms++;
        await new Promise<void>((resolve) => granted.signal.addEventListener("abort", () => resolve(), { once: true }));
      }, stop.signal);
    return {
      election,
      state,
      run,
      stop: () => stop.abort(),
      held: () => leadership?.held() ?? false,
      leadership: () => leadership,
    };
  }
  return { clock, api, direct, stored, member };
}

const isRenewal = ({ method }: ApiRequest) => method === "PUT";

test.each([
  ["leaseDuration", { leaseDurationMs: 10_000, renewDeadlineMs: 10_000 }],
  ["renewDeadline", { renewDeadlineMs: 2400, retryPeriodMs: 2000 }],
])("times that would let two hold the lease, or lose it by one slow call, are refused: %s", (field, times) => {
  expect(() => cluster().member("a", 0, times)).toThrow(new RegExp(`^${field} .* must be longer than`));
});

test("the first takes the lease, the second waits, and gets it at once when the first gives it back", async () => {
  const { clock, stored, member } = cluster();
  const a = member("a");
  const b = member("b");
  const first = a.run();
  await clock.elapse(100);
  const second = b.run();
  await clock.elapse(60_000);
  expect([a.held(), b.held()]).toEqual([true, false]);
  expect(b.election.holder()).toBe("a");
  expect((await stored()).spec).toMatchObject({ holderIdentity: "a", leaseDurationSeconds: 15, leaseTransitions: 0 });
  expect((await stored()).spec?.renewTime).toMatch(/^2026-01-01T00:0\d:\d\d\.\d{6}Z$/);
  a.stop();
  await clock.elapse(0);
  expect(await first).toBe(true);
  expect(a.held()).toBe(false);
  await clock.elapse(2_400);
  expect(b.held()).toBe(true);
  expect((await stored()).spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
  b.stop();
  await clock.elapse(0);
  expect(await second).toBe(true);
  expect(clock.pending).toBe(0);
});

test("a holder that cannot renew stops before another takes over, whatever their wall clocks say", async () => {
  const { clock, api, member } = cluster();
  const a = member("a");
  const b = member("b", 3_600_000);
  void a.run();
  await clock.elapse(100);
  void b.run();
  await clock.elapse(10_000);
  // From now on only b reaches the API server.
  api.before = ({ body }) => {
    if ((body as Lease | undefined)?.spec?.holderIdentity === "a") throw new TransportError("cut off");
  };
  let lostAt: number | undefined;
  let takenAt: number | undefined;
  for (let i = 0; i < 300 && takenAt === undefined; i++) {
    await clock.elapse(100);
    if (!a.held()) lostAt ??= clock.monotonic();
    if (b.held()) takenAt ??= clock.monotonic();
    expect(a.held() && b.held()).toBe(false);
  }
  expect(lostAt).toBeDefined();
  expect((takenAt ?? 0) - (lostAt ?? 0)).toBeGreaterThanOrEqual(2_000);
  expect(a.leadership()?.signal.reason).toMatchObject({
    message: expect.stringContaining("no renewal within 10000 ms"),
  });
  b.stop();
  await clock.elapse(0);
});

test("the loss ends the holder's calls at once, also those under way", async () => {
  const { clock, api, member } = cluster();
  const a = member("a");
  void a.run();
  await clock.elapse(100);
  const { client } = a.leadership() ?? expect.fail("not leading");
  const other = { metadata: { namespace: "ns", name: "other" } };
  api.before = ({ path }) =>
    path.endsWith("/leases") ? new Promise(() => {}) : Promise.reject(new TransportError("down"));
  const underWay = client.of(leases).create(other);
  underWay.catch(() => {});
  await clock.elapse(10_000);
  await expect(underWay).rejects.toBeInstanceOf(TransportError);
  api.before = () => {};
  await expect(client.of(leases).create(other)).rejects.toThrow("the right to do so has ended");
});

test("a process that was stopped for a while knows before its timers run that it holds nothing any more", async () => {
  const { clock, member } = cluster();
  const a = member("a");
  void a.run();
  await clock.elapse(100);
  const leadership = a.leadership() ?? expect.fail("not leading");
  // As after SIGSTOP: time went by, and no timer has run yet.
  const monotonic = clock.monotonic.bind(clock);
  clock.monotonic = () => monotonic() + 10_001;
  expect(leadership.signal.aborted).toBe(false);
  expect(leadership.held()).toBe(false);
  await expect(leadership.client.of(leases).get(ref)).rejects.toThrow("the right to do so has ended");
  clock.monotonic = monotonic;
  a.stop();
  await clock.elapse(0);
});

test("the lost answer of a successful renewal does not lose the lease", async () => {
  const { clock, api, member } = cluster();
  const a = member("a");
  void a.run();
  await clock.elapse(100);
  let lost = 0;
  api.after = (request) => {
    if (isRenewal(request) && lost++ < 2) throw new TransportError("the answer was lost");
  };
  await clock.elapse(60_000);
  expect(lost).toBeGreaterThan(2);
  expect(a.held()).toBe(true);
  expect(a.state.terms).toBe(1);
  a.stop();
  await clock.elapse(0);
});

test("the lost answer of the first write: the process finds itself in the lease and takes it", async () => {
  const { clock, api, member } = cluster();
  let lost = 0;
  api.after = ({ method }) => {
    if (method === "POST" && lost++ === 0) throw new TransportError("the answer was lost");
  };
  const a = member("a");
  void a.run();
  await clock.elapse(3_000);
  expect(a.held()).toBe(true);
  a.stop();
  await clock.elapse(0);
});

test("a renewal that hangs leaves time for another one", async () => {
  const { clock, api, member } = cluster();
  const a = member("a");
  void a.run();
  await clock.elapse(100);
  let hung = false;
  api.before = (request) => {
    if (!isRenewal(request) || hung) return undefined;
    hung = true;
    return new Promise(() => {});
  };
  await clock.elapse(30_000);
  expect(hung).toBe(true);
  expect(a.held()).toBe(true);
  expect(a.state.terms).toBe(1);
  a.stop();
  await clock.elapse(0);
});

test.each([
  [
    "deleted",
    async (api: TinyApi) =>
      api.handle({ method: "DELETE", path: "/apis/coordination.k8s.io/v1/namespaces/system/leases/scheduler" }),
  ],
  [
    "given to nobody",
    async (api: TinyApi) =>
      api.handle({
        method: "PATCH",
        path: "/apis/coordination.k8s.io/v1/namespaces/system/leases/scheduler",
        body: { spec: { holderIdentity: "" } },
      }),
  ],
])(
  "a lease that somebody %s is lost for its holder, who does not take it back within the same term",
  async (_, act) => {
    const { clock, api, member } = cluster();
    const a = member("a");
    const run = a.run();
    await clock.elapse(100);
    await act(api);
    await clock.elapse(6_000);
    expect(await run).toBe(true);
    expect(a.held()).toBe(false);
  },
);

test.each([
  ["forward", 86_400_000],
  ["back", -86_400_000],
])("a wall clock set %s by a day changes nothing", async (_, jump) => {
  const { clock, member } = cluster();
  const a = member("a");
  const b = member("b");
  void a.run();
  await clock.elapse(100);
  void b.run();
  await clock.elapse(5_000);
  clock.jump(jump);
  for (let i = 0; i < 60; i++) {
    await clock.elapse(1_000);
    expect([a.held(), b.held()]).toEqual([true, false]);
  }
  a.stop();
  b.stop();
  await clock.elapse(5_000);
});

test("at a shutdown the lease is kept and renewed until the work has ended, then given back", async () => {
  const { clock, member, stored, api } = cluster();
  const election = member("a").election;
  const stop = new AbortController();
  let finish = () => {};
  const work = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let granted: Leadership | undefined;
  const run = election.run(async (leadership) => {
    granted = leadership;
    await work;
    await leadership.client.of(leases).create({ metadata: { namespace: "ns", name: "last-write" } });
  }, stop.signal);
  await clock.elapse(100);
  stop.abort();
  expect(granted?.signal.aborted).toBe(true);
  await clock.elapse(60_000);
  expect(granted?.held()).toBe(true);
  expect((await stored()).spec?.holderIdentity).toBe("a");
  finish();
  await clock.elapse(0);
  expect(await run).toBe(true);
  expect((await stored()).spec?.holderIdentity).toBe("");
  expect(api.requests.some(({ body }) => (body as Lease | undefined)?.metadata.name === "last-write")).toBe(true);
});

test("a process that ends while it waits for the lease leaves nothing behind", async () => {
  const { clock, member } = cluster();
  const a = member("a");
  const b = member("b");
  void a.run();
  await clock.elapse(100);
  const waiting = b.run();
  await clock.elapse(5_000);
  b.stop();
  await clock.elapse(0);
  expect(await waiting).toBe(false);
  a.stop();
  await clock.elapse(0);
  expect(clock.pending).toBe(0);
});

/** How the way of one process to the API server is for a while. */
const phase = fc.record({
  ms: fc.integer({ min: 1_000, max: 25_000 }),
  way: fc.constantFrom("good", "good", "slow there", "slow back", "requests lost", "answers lost"),
});
const ways = fc.array(phase, { minLength: 4, maxLength: 12 });

test("with slow calls, lost requests and lost answers, two never hold the lease by local time", async () => {
  await fc.assert(
    fc.asyncProperty(ways, ways, ways, async (...phases) => {
      const { clock, api, member } = cluster();
      const names = ["a", "bb", "ccc"];
      const wayOf = (request: ApiRequest): string => {
        // A read does not say who asks: it is the one that would write next, so all reads are good.
        const at = names.indexOf((request.body as Lease | undefined)?.spec?.holderIdentity ?? "");
        let left = clock.monotonic();
        for (const { ms, way } of phases[at] ?? []) {
          if (left < ms) return way;
          left -= ms;
        }
        return "good";
      };
      api.before = async (request) => {
        const way = wayOf(request);
        if (way === "slow there") await sleep(clock, 4_500);
        if (way === "requests lost") throw new TransportError("lost on the way");
      };
      api.after = async (request) => {
        const way = wayOf(request);
        if (way === "slow back") await sleep(clock, 4_500);
        if (way === "answers lost") throw new TransportError("the answer was lost");
      };
      const members = [member("a"), member("bb", -7_200_000), member("ccc", 86_400_000)];
      let running = true;
      const runs = members.map(async (one) => {
        while (running) await one.run();
      });
      for (let i = 0; i < 240; i++) {
        await clock.elapse(500);
        expect(members.filter((one) => one.held()).length).toBeLessThanOrEqual(1);
      }
      running = false;
      for (const one of members) one.stop();
      await clock.elapse(60_000);
      await Promise.all(runs);
    }),
    { numRuns: 40 },
  );
});
