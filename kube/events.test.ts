import { expect, test } from "vitest";
import { type Event, events } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { createRecorder } from "#kube/events.ts";
import { memoryTransport } from "#kube/memory.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { TinyApi } from "#kube/testing/tiny-api.ts";
import { failure, StatusError, TransportError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";

function setup() {
  const clock = new VirtualClock();
  const api = new TinyApi();
  const client = createClient(memoryTransport(api, clock));
  const logs: string[] = [];
  const log = (message: string) => logs.push(message);
  const recorder = createRecorder({
    client,
    clock,
    random: seededRandom(1),
    logger: { debug: () => {}, info: log, warn: log, error: log },
    component: "kruntimes.io/scheduler",
    instance: "scheduler-0",
  });
  const stored = async () => {
    const { before, after } = api;
    Object.assign(api, { before: () => {}, after: () => {} });
    const list = (await client.of(events).list()).items as Event[];
    Object.assign(api, { before, after });
    return list;
  };
  const writes = () => api.requests.filter(({ method }) => method !== "GET").length;
  return { clock, api, recorder, stored, writes, logs };
}

const run = { apiVersion: "kruntimes.io/v1alpha1", kind: "Run", name: "a", namespace: "ns", uid: "u1" };

test("an event has everything that events.k8s.io/v1 demands", async () => {
  const { clock, recorder, stored } = setup();
  recorder.event(run, "Warning", "PodDeleted", "the Pod is gone");
  await clock.settle();
  const [event] = await stored();
  expect(event).toMatchObject({
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { namespace: "ns", name: expect.stringMatching(/^a\.[0-9a-f]{16}$/) },
    eventTime: "2026-01-01T00:00:00.000000Z",
    reportingController: "kruntimes.io/scheduler",
    reportingInstance: "scheduler-0",
    action: "PodDeleted",
    reason: "PodDeleted",
    regarding: run,
    note: "the Pod is gone",
    type: "Warning",
  });
  expect(event).not.toHaveProperty("series");
});

test("an event about an object without namespace goes to default", async () => {
  const { clock, recorder, stored } = setup();
  recorder.event({ apiVersion: "v1", kind: "Node", name: "n1" }, "Normal", "Seen", "here");
  await clock.settle();
  expect((await stored())[0]?.metadata.namespace).toBe("default");
});

test("a thousand equal events are one Event with a count, written at most every half minute", async () => {
  const { clock, recorder, stored, writes } = setup();
  for (let i = 0; i < 1000; i++) {
    recorder.event(run, "Normal", "Waiting", "no capacity");
    await clock.elapse(60);
  }
  await clock.elapse(30_000);
  const list = await stored();
  expect(list).toHaveLength(1);
  expect(list[0]?.series).toEqual({ count: 1000, lastObservedTime: "2026-01-01T00:00:59.940000Z" });
  expect(writes()).toBe(3);
});

test("different messages, types and objects are different Events; a pause of six minutes begins a new one", async () => {
  const { clock, recorder, stored } = setup();
  recorder.event(run, "Normal", "Waiting", "no capacity");
  recorder.event(run, "Normal", "Waiting", "no Pod");
  recorder.event(run, "Warning", "Waiting", "no Pod");
  recorder.event({ ...run, uid: "u2" }, "Warning", "Waiting", "no Pod");
  await clock.elapse(360_000);
  recorder.event(run, "Normal", "Waiting", "no capacity");
  await clock.settle();
  expect(await stored()).toHaveLength(5);
});

test("a series goes on when its Event has expired in the API server", async () => {
  const { clock, api, recorder, stored } = setup();
  recorder.event(run, "Normal", "Waiting", "no capacity");
  await clock.settle();
  const [event] = await stored();
  await api.handle({ method: "DELETE", path: `/apis/events.k8s.io/v1/namespaces/ns/events/${event?.metadata.name}` });
  recorder.event(run, "Normal", "Waiting", "no capacity");
  await clock.elapse(30_000);
  expect((await stored())[0]?.series?.count).toBe(2);
});

test("one object gets 25 different Events at once, then one every five minutes; others are not affected", async () => {
  const { clock, recorder, stored } = setup();
  for (let i = 0; i < 100; i++) recorder.event(run, "Normal", "Noise", `number ${i}`);
  recorder.event({ ...run, name: "b" }, "Normal", "Noise", "other");
  await clock.settle();
  expect(await stored()).toHaveLength(26);
  await clock.elapse(300_000);
  for (let i = 0; i < 100; i++) recorder.event(run, "Normal", "Noise", `again ${i}`);
  await clock.settle();
  expect(await stored()).toHaveLength(27);
});

test("long texts are cut at a whole character, long names and reasons too", async () => {
  const { clock, recorder, stored } = setup();
  recorder.event({ ...run, name: "n".repeat(253) }, "Normal", "R".repeat(200), "ü".repeat(2000));
  await clock.settle();
  const [event] = await stored();
  expect(Buffer.byteLength(event?.note ?? "")).toBeLessThanOrEqual(1024);
  expect(event?.note).toMatch(/^ü+…$/);
  expect(event?.reason).toHaveLength(128);
  expect(event?.metadata.name.length).toBeLessThanOrEqual(253);
});

const terminating = failure(403, "Forbidden", "namespace ns is being terminated", {
  causes: [
    { reason: "NamespaceTerminating", message: "namespace ns is being terminated", field: "metadata.namespace" },
  ],
});

/** How often the API server is asked, and whether somebody is told, when it always answers like this. */
const failures: Record<string, { error: Error; tries: number; logged: boolean }> = {
  "a namespace that terminates is the end of it": { error: new StatusError(terminating), tries: 1, logged: false },
  "a namespace that is gone is the end of it": {
    error: new StatusError(failure(404, "NotFound", "namespaces ns not found")),
    tries: 1,
    logged: false,
  },
  "a refusal is logged and not repeated": {
    error: new StatusError(failure(403, "Forbidden", "not allowed")),
    tries: 1,
    logged: true,
  },
  "a lost connection is tried three times": { error: new TransportError("down"), tries: 3, logged: true },
  "a server error is tried three times": {
    error: new StatusError(failure(500, "InternalError", "no")),
    tries: 3,
    logged: true,
  },
};

test.each(Object.entries(failures))("%s", async (_, { error, tries, logged }) => {
  const { clock, api, recorder, writes, logs } = setup();
  api.before = () => Promise.reject(error);
  recorder.event(run, "Normal", "Waiting", "no capacity");
  await clock.elapse(20_000);
  expect(writes()).toBe(tries);
  expect(logs).toEqual(logged ? ["an event was not delivered"] : []);
  const closing = recorder.close();
  await clock.elapse(5_000);
  await closing;
  expect(clock.pending).toBe(0);
});

test("what could not be delivered is tried again with the next round, but not for ever", async () => {
  const { clock, api, recorder, stored } = setup();
  api.before = () => Promise.reject(new TransportError("down"));
  recorder.event(run, "Normal", "Waiting", "no capacity");
  await clock.elapse(60_000);
  api.before = () => {};
  await clock.elapse(60_000);
  expect(await stored()).toHaveLength(1);
  await clock.elapse(3_600_000 * 3);
  expect(clock.pending).toBe(0);
});

test("close sends what waits, and gives up after its time", async () => {
  const { clock, recorder, stored } = setup();
  recorder.event(run, "Normal", "Waiting", "no capacity");
  await clock.settle();
  recorder.event(run, "Normal", "Waiting", "no capacity");
  await recorder.close();
  expect((await stored())[0]?.series?.count).toBe(2);
  recorder.event(run, "Normal", "Waiting", "too late");
  expect(await stored()).toHaveLength(1);

  const second = setup();
  second.api.before = () => Promise.reject(new TransportError("down"));
  second.recorder.event(run, "Normal", "Waiting", "no capacity");
  const closing = second.recorder.close(500);
  await second.clock.elapse(500);
  await closing;
  expect(second.clock.pending).toBe(0);
});
