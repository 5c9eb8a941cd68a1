/** Checks of Health, Execute, List and Forget. */
import assert from "node:assert/strict";
import {
  AttemptOverError,
  BootIdChangedError,
  InvalidExecuteRequestError,
  StillRunningError,
} from "#runtime/executor-client.ts";
import type { Check } from "#runtime/proto/conformance.ts";
import { eventsOf, exitOf, find, outputOf, until } from "#runtime/proto/conformance-tools.ts";

export const executeChecks: readonly Check[] = [
  {
    name: "Health says healthy with a boot id and boot time that stay the same",
    async run({ client }) {
      const first = await client.health();
      const second = await client.health();
      assert.equal(first.healthy, true, first.message);
      assert.notEqual(first.bootId, "");
      assert.ok(first.bootTime > 0);
      assert.deepEqual([second.bootId, second.bootTime], [first.bootId, first.bootTime]);
    },
  },
  {
    name: "a program that succeeds gives started, its output and exited with code 0, numbered from 1 without gaps",
    async run({ client, request }) {
      const execution = await request({ durationMs: 0, output: [{ data: "hello\n" }] });
      assert.deepEqual(await client.execute(execution), { alreadyRunning: false });
      const events = await eventsOf(client, execution);
      assert.equal(events[0]?.kind, "started");
      assert.equal(outputOf(events).toString(), "hello\n");
      const { cause, exitCode, signal } = exitOf(events);
      assert.deepEqual({ cause, exitCode, signal }, { cause: "exited", exitCode: 0, signal: undefined });
      assert.deepEqual(
        events.map((event) => event.seq),
        events.map((_, index) => index + 1),
      );
      assert.ok(events.every((event, index) => event.time >= (events[index - 1]?.time ?? 1)));
    },
  },
  {
    name: "an exit code is reported as it is",
    async run({ client, request }) {
      const execution = await request({ durationMs: 0, exitCode: 203 });
      await client.execute(execution);
      const { cause, exitCode } = exitOf(await eventsOf(client, execution));
      assert.deepEqual({ cause, exitCode }, { cause: "exited", exitCode: 203 });
    },
  },
  {
    name: "a program that somebody else kills is reported with the signal, as an end by itself",
    async run({ client, request }) {
      const execution = await request({ durationMs: 0, signal: "SIGKILL" });
      await client.execute(execution);
      const { cause, exitCode, signal } = exitOf(await eventsOf(client, execution));
      assert.deepEqual({ cause, exitCode, signal }, { cause: "exited", exitCode: undefined, signal: "SIGKILL" });
    },
  },
  {
    name: "a program that cannot be started is an end with code 127 and a message, not an error of Execute",
    async run({ client, request }) {
      const execution = await request({ durationMs: 0, startFailure: { exitCode: 127, message: "was not found" } });
      assert.deepEqual(await client.execute(execution), { alreadyRunning: false });
      const events = await eventsOf(client, execution);
      assert.equal(events.length, 1);
      const { cause, exitCode, message } = exitOf(events);
      assert.deepEqual({ cause, exitCode }, { cause: "start-failed", exitCode: 127 });
      assert.match(message, /not found/);
    },
  },
  {
    name: "Execute again, at the same time, later and after the end, starts nothing",
    async run({ client, request }) {
      const execution = await request({ durationMs: 50, output: [{ data: "once\n" }] });
      const answers = await Promise.all([1, 2, 3].map(() => client.execute(execution)));
      assert.equal(answers.filter((answer) => !answer.alreadyRunning).length, 1);
      assert.deepEqual(await client.execute(execution), { alreadyRunning: true });
      assert.equal(outputOf(await eventsOf(client, execution)).toString(), "once\n");
      assert.deepEqual(await client.execute(execution), { alreadyRunning: true });
      assert.ok((await find(client, execution))?.exit !== undefined);
    },
  },
  {
    name: "Execute with another boot id is refused and starts nothing",
    async run({ client, request }) {
      const execution = await request({ durationMs: 0 });
      await assert.rejects(client.execute({ ...execution, bootId: "of-another-boot" }), BootIdChangedError);
      assert.equal(await find(client, execution), undefined);
    },
  },
  {
    name: "two attempts of one Run, and two Runs, are executions of their own",
    async run({ client, request }) {
      const first = await request({ durationMs: 0, exitCode: 1 });
      const second = await request({ durationMs: 0, exitCode: 2 }, { runUid: first.runUid, attempt: 2 });
      const other = await request({ durationMs: 0, exitCode: 3 });
      for (const execution of [first, second, other]) await client.execute(execution);
      const ends = await Promise.all([first, second, other].map((execution) => eventsOf(client, execution)));
      assert.deepEqual(
        ends.map((events) => exitOf(events).exitCode),
        [1, 2, 3],
      );
    },
  },
  {
    name: "an attempt lower than one that is known never starts",
    async run({ client, request }) {
      const second = await request({ durationMs: 0 }, { attempt: 2 });
      await client.execute(second);
      await assert.rejects(client.execute({ ...second, attempt: 1 }), AttemptOverError);
    },
  },
  {
    name: "malformed requests are refused with the name of the field",
    async run({ client, request }) {
      const good = await request({ durationMs: 0 });
      const { script, ...withoutScript } = good;
      const bad = {
        run_uid: { ...good, runUid: "" },
        attempt: { ...good, attempt: 0 },
        working_dir: { ...good, workingDir: "relative" },
        script: { ...good, script: "relative.sh" },
        "args[0]": { ...good, args: ["zero\0byte"] },
        args: { ...withoutScript, args: [] },
        env: { ...good, env: { "A=B": "x" } },
      };
      for (const [field, execution] of Object.entries(bad)) {
        await assert.rejects(client.execute(execution), (error) => {
          assert.ok(error instanceof InvalidExecuteRequestError, `${field}: ${error}`);
          assert.ok(error.message.includes(field), `${error.message} names ${field}`);
          return true;
        });
      }
    },
  },
  {
    name: "List has running and finished executions until they are forgotten",
    async run({ client, request }) {
      const running = await request({ durationMs: 60_000 });
      const finished = await request({ durationMs: 0, exitCode: 5 });
      await client.execute(running);
      await client.execute(finished);
      await until("the short one is over", async () => (await find(client, finished))?.exit !== undefined);
      const seen = await find(client, running);
      assert.ok(seen !== undefined && seen.exit === undefined && seen.startTime > 0);
      const over = await find(client, finished);
      assert.equal(over?.exit?.exitCode, 5);
      assert.ok((over?.exitTime ?? 0) >= (over?.startTime ?? Number.NaN));
      await client.forget(finished);
      assert.equal(await find(client, finished), undefined);
      await client.cancel(running, 0);
      await client.forget(running);
      assert.equal(await find(client, running), undefined);
    },
  },
  {
    name: "Forget refuses what is running, and does not mind what is unknown",
    async run({ client, request }) {
      const execution = await request({ durationMs: 60_000 });
      await client.execute(execution);
      await assert.rejects(client.forget(execution), StillRunningError);
      await client.cancel(execution, 0);
      await client.forget(execution);
      await client.forget(execution);
    },
  },
  {
    name: "a forgotten attempt never starts again, the next one does",
    async run({ client, request }) {
      const execution = await request({ durationMs: 0 });
      await client.execute(execution);
      await eventsOf(client, execution);
      await client.forget(execution);
      await assert.rejects(client.execute(execution), AttemptOverError);
      assert.deepEqual(await client.execute({ ...execution, attempt: 2 }), { alreadyRunning: false });
    },
  },
];
