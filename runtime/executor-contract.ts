/** The contract tests of {@link ExecutorClient}, for every adapter. Imported by tests only. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  BootIdChangedError,
  type ExecutionEvent,
  ExecutionNotFoundError,
  ExecutorUnavailableError,
} from "#runtime/executor-client.ts";
import { checks, type Subject } from "#runtime/proto/conformance.ts";
import { eventsOf, exitOf, until } from "#runtime/proto/conformance-tools.ts";

export interface ContractSubject extends Subject {
  /** The executor and all its processes are gone, hard. */
  crash(): Promise<void>;
  /** It is there again. */
  boot(): Promise<void>;
  close(): Promise<void>;
}

/** @param start gets a directory of its own for sockets and programs. */
export function describeExecutorContract(name: string, start: (directory: string) => Promise<ContractSubject>): void {
  describe(`${name} keeps the contract:`, () => {
    let directory = "";
    let subject: ContractSubject;
    beforeAll(async () => {
      directory = await mkdtemp(`${tmpdir()}/executor-`);
      subject = await start(directory);
    });
    afterAll(async () => {
      await subject.close();
      await rm(directory, { recursive: true });
    });

    test.each(checks.map((check) => [check.name, check] as const))("%s", async (_, check) => {
      await check.run(subject);
    });

    test("after a crash open watches and calls fail as unavailable, and nothing is known any more", async () => {
      const { client } = subject;
      const execution = await subject.request({ durationMs: 60_000 });
      await client.execute(execution);
      const started = Promise.withResolvers<ExecutionEvent>();
      const watching = client.watch(execution, 0, (event) => started.resolve(event));
      const refused = expect(watching).rejects.toThrow(ExecutorUnavailableError);
      await started.promise;
      await subject.crash();
      await refused;
      await expect(client.health()).rejects.toThrow(ExecutorUnavailableError);
      await expect(client.execute(execution)).rejects.toThrow(ExecutorUnavailableError);

      await subject.boot();
      await until("it answers again", () =>
        client.health().then(
          () => true,
          () => false,
        ),
      );
      const { bootId } = await client.health();
      expect(bootId).not.toBe(execution.bootId);
      expect(await client.list()).toEqual([]);
      await expect(client.watch(execution, 0, () => {})).rejects.toThrow(ExecutionNotFoundError);
      await expect(client.execute(execution)).rejects.toThrow(BootIdChangedError);

      const next = await subject.request({ durationMs: 0 }, { runUid: execution.runUid, attempt: 2 });
      await client.execute(next);
      expect(exitOf(await eventsOf(client, next)).exitCode).toBe(0);
    });
  });
}
