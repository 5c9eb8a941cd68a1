import { expect, test } from "vitest";
import { seededRandom } from "#kube/seeded-random.ts";
import { systemRandom } from "#kube/system.ts";
import { systemClock } from "#kube/system-clock.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { type ExecutionId, ExecutorUnavailableError, executionKey } from "#runtime/executor-client.ts";
import { describeExecutorContract } from "#runtime/executor-contract.ts";
import { SimulatedExecutor, type SimulatedExecutorOptions } from "#runtime/simulated-executor.ts";
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

/** Under virtual time, as the simulation uses it. */
function simulation(program: SimulatedProgram, options: Partial<SimulatedExecutorOptions> = {}) {
  const clock = new VirtualClock();
  const executor = new SimulatedExecutor({ clock, random: seededRandom(1), program: () => program, ...options });
  const start = async (attempt = 1) => {
    const platformEnv = { KRUNTIME_OUTPUTS: "/w/.kruntimes/outputs" };
    const request = {
      runUid: "u",
      attempt,
      bootId: executor.bootId,
      workingDir: "/w",
      args: ["x"],
      env: {},
      platformEnv,
    };
    await executor.execute(request);
    return request;
  };
  const follow = (id: ExecutionId) => {
    const seen: string[] = [];
    const end = executor.watch(id, 0, (event) => {
      const what = event.kind === "output" ? Buffer.from(event.bytes).toString() : event.kind;
      seen.push(`${clock.monotonic()} ${what}`);
    });
    end.catch(() => {});
    return { seen, end };
  };
  return { clock, executor, start, follow };
}

test("a program's output, files and end come at their times", async () => {
  const written: string[] = [];
  const { clock, start, follow } = simulation(
    {
      durationMs: 3_600_000,
      exitCode: 3,
      output: [
        { atMs: 60_000, data: "late" },
        { atMs: 1000, data: "early" },
      ],
      writesFiles: [
        { atMs: 2000, path: "$KRUNTIME_OUTPUTS", content: "a=1" },
        { path: "dist/app", content: new Uint8Array([1]) },
        { atMs: 3000, path: "/absolute", content: "" },
      ],
    },
    { writeFile: async (path, content) => void written.push(`${path} ${content.byteLength}`) },
  );
  const { seen, end } = follow(await start());
  await clock.elapse(3_599_999);
  expect(seen).toEqual(["0 started", "1000 early", "60000 late"]);
  expect(written).toEqual(["/w/dist/app 1", "/w/.kruntimes/outputs 3", "/absolute 0"]);
  await clock.elapse(1);
  await end;
  expect(seen.at(-1)).toBe("3600000 exited");
  expect(clock.pending).toBe(0);
});

test("a crash ends watches at once, leaves no timer behind, and starts are counted over it", async () => {
  const { clock, executor, start, follow } = simulation({ durationMs: 1000 });
  const id = await start();
  const { end } = follow(id);
  const cancelling = executor.cancel(id, 5000);
  executor.crash();
  await expect(end).rejects.toThrow(ExecutorUnavailableError);
  await expect(cancelling).rejects.toThrow(ExecutorUnavailableError);
  await expect(executor.list()).rejects.toThrow(ExecutorUnavailableError);
  await clock.settle();
  expect([executor.running, clock.pending]).toEqual([[], 0]);
  executor.boot();
  await start(); // an agent that kept the rules would not: this is what the count is for
  expect([...executor.starts]).toEqual([["u#1", 2]]);
  expect(executor.running).toEqual([{ runUid: "u", attempt: 1 }]);
});

test("a crash between call and answer is a lost answer, even when it is up again", async () => {
  const { executor, start } = simulation({ durationMs: 1 }, { after: () => executor.boot() });
  await expect(start()).rejects.toThrow("restarted during the call");
});

test("calls can be made to fail before or after they take effect", async () => {
  let fail: "before" | "after" | undefined;
  const hook = (when: "before" | "after") => (method: string) => {
    if (method === "execute" && fail === when) throw new ExecutorUnavailableError(`injected ${when}`);
  };
  const { executor, start } = simulation({ durationMs: 1000 }, { before: hook("before"), after: hook("after") });
  fail = "before";
  await expect(start()).rejects.toThrow("injected before");
  expect(executor.running).toHaveLength(0);
  fail = "after";
  await expect(start()).rejects.toThrow("injected after");
  expect(executor.running).toHaveLength(1);
  fail = undefined;
  await start();
  expect([...executor.starts]).toEqual([["u#1", 1]]);
});

test("health is by decree", async () => {
  const { executor } = simulation({ durationMs: 1 });
  executor.setHealth({ healthy: false, message: "no bash" });
  expect(await executor.health()).toMatchObject({ healthy: false, message: "no bash", bootId: executor.bootId });
});

test("the same seed gives the same boot ids", () => {
  const [one, two] = [simulation({ durationMs: 1 }), simulation({ durationMs: 1 })];
  expect(one.executor.bootId).toBe(two.executor.bootId);
  const before = one.executor.bootId;
  one.executor.boot();
  expect(one.executor.bootId).not.toBe(before);
});

test("a program whose file cannot be written fails as a real one does: a word on stderr, exit code 1", async () => {
  const writeFile = () => Promise.reject(new Error("No space left on device"));
  const program = { durationMs: 50, writesFiles: [{ path: "x", content: "" }] };
  for (const [options, says] of [
    [{ writeFile }, "No space left on device"],
    [{}, "pass writeFile to the executor"],
  ] as const) {
    const { start, follow, executor } = simulation(program, options);
    const { end, seen } = follow(await start());
    await end;
    expect(seen[1]).toContain(says);
    expect((await executor.list())[0]?.exit).toMatchObject({ cause: "exited", exitCode: 1 });
  }
});
