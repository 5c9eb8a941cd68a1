import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { silentLogger } from "#kube/silent-logger.ts";
import { startExecutor } from "#runtime/executor/main.ts";
import { checks, runConformance } from "#runtime/proto/conformance.ts";
import { executeChecks } from "#runtime/proto/conformance-execute.ts";
import { services } from "#runtime/proto/gen/schema.gen.ts";
import { definitionOf } from "#runtime/proto/grpc.ts";

test("a conforming server passes (all checks run in the contract tests of the executor)", async () => {
  const directory = await mkdtemp(`${tmpdir()}/conformance-`);
  const socketPath = `${directory}/s`;
  const executor = await startExecutor({ socketPath, interpreter: "bash", log: silentLogger });
  const wanted = executeChecks.map((check) => check.name);
  const results = await runConformance(socketPath, `${directory}/programs`, (check) => wanted.includes(check.name));
  await executor.stop(0);
  await rm(directory, { recursive: true });
  expect(results.filter((result) => result.error !== undefined)).toEqual([]);
  expect(results.map((result) => result.name)).toEqual(wanted);
});

test("names of checks are sentences of their own", () => {
  expect(new Set(checks.map((check) => check.name)).size).toBe(checks.length);
});

test("a server that only pretends is told check by check", async () => {
  const directory = await mkdtemp(`${tmpdir()}/conformance-`);
  const server = new Server();
  const { Health, Execute, List } = services.Runtime;
  server.addService(
    { Health: definitionOf(Health), Execute: definitionOf(Execute), List: definitionOf(List) },
    {
      Health: (_: unknown, answer: (error: null, value: unknown) => void) =>
        answer(null, { healthy: true, message: "", bootId: "fixed", bootTimeMicros: 1 }),
      Execute: (_: unknown, answer: (error: null, value: unknown) => void) => answer(null, { alreadyRunning: false }),
      List: (_: unknown, answer: (error: null, value: unknown) => void) => answer(null, { executions: [] }),
    },
  );
  await new Promise((done) => server.bindAsync(`unix:${directory}/s`, ServerCredentials.createInsecure(), done));
  const chosen = [
    "Health says healthy with a boot id and boot time that stay the same",
    "Execute with another boot id is refused and starts nothing",
    "an exit code is reported as it is",
  ];
  const results = await runConformance(`${directory}/s`, `${directory}/programs`, (check) =>
    chosen.includes(check.name),
  );
  server.forceShutdown();
  await rm(directory, { recursive: true });
  expect(results.map((result) => [result.name, result.error?.name])).toEqual([
    [chosen[0], undefined],
    [chosen[2], "ExecutorUnavailableError"],
    [chosen[1], "AssertionError"],
  ]);
});
