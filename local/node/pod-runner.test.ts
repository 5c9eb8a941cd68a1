import { expect, test } from "vitest";
import { silentLogger } from "#kube/silent-logger.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { PodRunner } from "./pod-runner.ts";
import type { Process, Processes, StartRequest } from "./processes.ts";

interface Started extends Process {
  readonly request: StartRequest;
  readonly signals: string[];
  end(how: string): void;
}

/** Processes that do nothing until the test says so. */
class Doubles implements Processes {
  readonly started: Started[] = [];
  readonly endedPods: { except: readonly number[] }[] = [];
  /** The machine cannot start, or look at, processes. */
  trouble = false;

  start(request: StartRequest): Process {
    if (this.trouble) throw new Error("EMFILE: too many open files");
    let end: (how: string) => void = () => {};
    const ended = new Promise<string>((resolve) => {
      end = resolve;
    });
    const signals: string[] = [];
    const process = {
      request,
      signals,
      pid: this.started.length + 1,
      ended,
      end,
      signal: (name: string) => {
        signals.push(name);
        if (name === "SIGKILL") end("signal SIGKILL");
      },
    };
    this.started.push(process);
    return process;
  }

  async endPod(_: string, except: ReadonlySet<number> = new Set()): Promise<void> {
    if (this.trouble) throw new Error("EMFILE: too many open files");
    this.endedPods.push({ except: [...except] });
  }

  /** The latest process of a container. */
  last(component: string): Started {
    const found = this.started.findLast(({ request }) => request.args[0] === component);
    if (found === undefined) throw new Error(`no ${component} was started`);
    return found;
  }

  count(component: string): number {
    return this.started.filter(({ request }) => request.args[0] === component).length;
  }
}

function start(processes = new Doubles()) {
  const clock = new VirtualClock();
  let changes = 0;
  const containers = [
    { name: "runtimed", args: ["agent"], env: { POD_NAME: "p" } },
    { name: "runtime", args: ["executor"], env: { LANG: "C" } },
  ];
  const runner = new PodRunner("uid", containers, {
    clock,
    logger: silentLogger,
    processes,
    agentEnv: { TOKEN: "secret" },
    workingDirectory: "/pod",
    errorLog: (container) => `/pod/${container}.stderr`,
    onOutput: () => {},
    onChange: () => changes++,
  });
  return { clock, processes, runner, changes: () => changes };
}

test("only the agent learns how to reach the API server", () => {
  const { processes } = start();
  expect(processes.last("agent").request.env).toEqual({ TOKEN: "secret", POD_NAME: "p" });
  expect(processes.last("executor").request.env).toEqual({ LANG: "C" });
});

test("a Pod is ready when its agent says so, and no longer when it takes that back", () => {
  const { processes, runner, changes } = start();
  expect(runner.ready).toBe(false);
  processes.last("agent").request.onMessage({ ready: true });
  expect(runner.ready).toBe(true);
  expect(changes()).toBe(1);
  processes.last("agent").request.onMessage({ ready: true });
  processes.last("agent").request.onMessage("nonsense");
  expect(changes()).toBe(1);
  processes.last("agent").request.onMessage({ ready: false });
  expect(runner.ready).toBe(false);
});

test("a process that ends is started again, at once and then with a growing delay", async () => {
  const { clock, processes, runner } = start();
  processes.last("agent").end("exit code 1");
  await clock.settle();
  expect(runner.containerStatuses()[0]).toMatchObject({
    ready: false,
    restartCount: 1,
    state: { waiting: { reason: "CrashLoopBackOff", message: "exit code 1" } },
  });
  await clock.elapse(0);
  expect(processes.count("agent")).toBe(2);
  processes.last("agent").end("exit code 1");
  await clock.elapse(999);
  expect(processes.count("agent")).toBe(2);
  await clock.elapse(1);
  expect(processes.count("agent")).toBe(3);
});

test("a process that ran for ten minutes is started again as if it had never ended", async () => {
  const { clock, processes, runner } = start();
  for (let n = 0; n < 5; n++) {
    processes.last("agent").end("exit code 1");
    await clock.elapse(30_000);
  }
  expect(processes.count("agent")).toBe(6);
  await clock.elapse(600_000);
  for (const delay of [0, 1000]) {
    const before = processes.count("agent");
    processes.last("agent").end("exit code 1");
    await clock.elapse(delay);
    expect(processes.count("agent")).toBe(before + 1);
  }
  expect(runner.containerStatuses()[0]?.restartCount).toBe(7);
});

test("a machine that can start no process is tried again with a growing delay, and says why", async () => {
  const processes = new Doubles();
  processes.trouble = true;
  const { clock, runner } = start(processes);
  await clock.elapse(500);
  expect(runner.containerStatuses()[1]).toMatchObject({
    state: { waiting: { message: "could not be started: EMFILE: too many open files" } },
  });
  processes.trouble = false;
  await clock.elapse(30_000);
  expect([processes.count("agent"), processes.count("executor")]).toEqual([1, 1]);
});

test("an executor is started again although its programs could not be looked for", async () => {
  const { clock, processes } = start();
  processes.trouble = true;
  processes.last("executor").end("signal SIGKILL");
  await clock.settle();
  processes.trouble = false;
  await clock.elapse(1000);
  expect(processes.count("executor")).toBe(2);
});

test("a late message of an agent that has ended changes nothing", async () => {
  const { clock, processes, runner } = start();
  const first = processes.last("agent");
  first.end("exit code 1");
  await clock.elapse(0);
  first.request.onMessage({ ready: true });
  expect(runner.ready).toBe(false);
});

test("when the executor ends its programs end with it, and the agent does not", async () => {
  const { clock, processes, runner } = start();
  processes.last("agent").request.onMessage({ ready: true });
  const { pid } = processes.last("agent");
  expect(runner.crash("runtime")).toBe(true);
  await clock.elapse(0);
  expect(processes.endedPods).toEqual([{ except: [pid] }]);
  expect(processes.count("executor")).toBe(2);
  expect(processes.count("agent")).toBe(1);
});

test("a drain is the agent's; when it has ended everything else ends too", async () => {
  const { clock, processes, runner } = start();
  processes.last("agent").request.onMessage({ ready: true });
  runner.drain();
  expect(runner.ready).toBe(false);
  expect(processes.last("agent").signals).toEqual(["SIGTERM"]);
  expect(processes.last("executor").signals).toEqual([]);
  processes.last("agent").end("exit code 0");
  await clock.settle();
  expect(runner.ended).toBe(true);
  expect(processes.last("executor").signals).toEqual(["SIGKILL"]);
  await clock.elapse(60_000);
  expect(processes.count("agent")).toBe(1);
});

test("a Pod that is ended starts nothing again", async () => {
  const { clock, processes, runner } = start();
  processes.last("agent").end("exit code 1");
  await clock.settle();
  await runner.end();
  await clock.elapse(60_000);
  expect(processes.started).toHaveLength(2);
  expect(processes.endedPods).toHaveLength(1);
});
