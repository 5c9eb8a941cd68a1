/** Checks of Cancel. */
import assert from "node:assert/strict";
import { systemClock } from "#kube/system-clock.ts";
import { AttemptOverError } from "#runtime/executor-client.ts";
import type { Check } from "#runtime/proto/conformance.ts";
import { eventsOf, exitOf, find, untilFirstOutput } from "#runtime/proto/conformance-tools.ts";

const ready = [{ data: "ready\n" }];

export const cancelChecks: readonly Check[] = [
  {
    name: "Cancel ends a program with SIGTERM at once; the end has the cause and is recorded when it answers",
    async run({ client, request }) {
      const execution = await request({ durationMs: 60_000, output: ready });
      await client.execute(execution);
      await untilFirstOutput(client, execution);
      const before = systemClock.monotonic();
      await client.cancel(execution, 30_000);
      assert.ok(systemClock.monotonic() - before < 5_000, "it does not wait for the whole grace");
      const exit = (await find(client, execution))?.exit;
      assert.deepEqual([exit?.cause, exit?.signal, exit?.exitCode], ["cancelled", "SIGTERM", undefined]);
      assert.deepEqual(exitOf(await eventsOf(client, execution)), exit);
      await client.forget(execution);
    },
  },
  {
    name: "a program that ignores SIGTERM is killed when the grace is over",
    async run({ client, request }) {
      const execution = await request({ durationMs: 60_000, output: ready, onSigterm: "ignores" });
      await client.execute(execution);
      await untilFirstOutput(client, execution);
      const before = systemClock.monotonic();
      await client.cancel(execution, 150, "timed-out");
      assert.ok(systemClock.monotonic() - before >= 145, "it gets its grace");
      const { cause, signal } = exitOf(await eventsOf(client, execution));
      assert.deepEqual([cause, signal], ["timed-out", "SIGKILL"]);
    },
  },
  {
    name: "a program that handles SIGTERM ends in its own way",
    async run({ client, request }) {
      const onSigterm = { afterMs: 20, exitCode: 42 };
      const execution = await request({ durationMs: 60_000, output: ready, onSigterm });
      await client.execute(execution);
      await untilFirstOutput(client, execution);
      await client.cancel(execution, 10_000);
      const { cause, exitCode, signal } = exitOf(await eventsOf(client, execution));
      assert.deepEqual([cause, exitCode, signal], ["cancelled", 42, undefined]);
    },
  },
  {
    name: "Cancel without grace kills at once",
    async run({ client, request }) {
      const execution = await request({ durationMs: 60_000, output: ready, onSigterm: "ignores" });
      await client.execute(execution);
      await untilFirstOutput(client, execution);
      await client.cancel(execution, 0);
      assert.equal(exitOf(await eventsOf(client, execution)).signal, "SIGKILL");
    },
  },
  {
    name: "a second Cancel with less grace shortens the wait of the first; its cause does not count",
    async run({ client, request }) {
      const execution = await request({ durationMs: 60_000, output: ready, onSigterm: "ignores" });
      await client.execute(execution);
      await untilFirstOutput(client, execution);
      const patient = client.cancel(execution, 60_000, "cancelled");
      await client.cancel(execution, 50, "timed-out");
      await patient;
      const { cause, signal } = exitOf(await eventsOf(client, execution));
      assert.deepEqual([cause, signal], ["cancelled", "SIGKILL"]);
    },
  },
  {
    name: "Cancel of a program that nobody reads and whose output is full ends it, and the end is recorded",
    async run({ client, request }) {
      const execution = await request({ durationMs: 0, output: [{ data: Buffer.alloc(2 * 1024 * 1024, "x") }] });
      await client.execute(execution);
      await untilFirstOutput(client, execution);
      await client.cancel(execution, 1000);
      assert.equal((await find(client, execution))?.exit?.cause, "cancelled");
      await client.forget(execution);
    },
  },
  {
    name: "Cancel after the end changes nothing",
    async run({ client, request }) {
      const execution = await request({ durationMs: 0, exitCode: 7 });
      await client.execute(execution);
      const exit = exitOf(await eventsOf(client, execution));
      await client.cancel(execution, 1000);
      assert.deepEqual((await find(client, execution))?.exit, exit);
    },
  },
  {
    name: "a Cancel that overtakes its Execute wins: the attempt never starts",
    async run({ client, request }) {
      const execution = await request({ durationMs: 0 });
      await client.cancel(execution, 1000);
      await assert.rejects(client.execute(execution), AttemptOverError);
      assert.equal(await find(client, execution), undefined);
    },
  },
];
