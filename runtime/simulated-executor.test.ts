import { systemRandom } from "#kube/system.ts";
import { systemClock } from "#kube/system-clock.ts";
import { executionKey } from "#runtime/executor-client.ts";
import { describeExecutorContract } from "#runtime/executor-contract.ts";
import { SimulatedExecutor } from "#runtime/simulated-executor.ts";
import type { SimulatedProgram } from "#runtime/simulated-program.ts";

describeExecutorContract("the simulated executor", async () => {
  const programs = new Map<string, SimulatedProgram>();
  const client = new SimulatedExecutor({
    clock: systemClock,
    random: systemRandom,
    program: (request) => programs.get(executionKey(request)) ?? { durationMs: 0 },
  });
  return {
    client,
    async request(program, id = {}) {
      const runUid = id.runUid ?? systemRandom.uuid();
      const attempt = id.attempt ?? 1;
      programs.set(executionKey({ runUid, attempt }), program);
      return { runUid, attempt, bootId: client.bootId, workingDir: "/w", script: "/w/script", args: [], env: {} };
    },
    crash: async () => client.crash(),
    boot: async () => client.boot(),
    close: async () => {},
  };
});
