/** What only real processes can show: groups, escapes, leftovers, streams, environments. */
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemProcesses } from "#runtime/executor/proc-scan.ts";
import { startTestExecutor, type TestExecutor } from "#runtime/executor/test-executor.ts";
import type { ExecuteRequest, ExecutionId } from "#runtime/executor-client.ts";
import { GrpcExecutorClient } from "#runtime/grpc-executor-client.ts";
import { eventsOf, exitOf, outputOf, until } from "#runtime/proto/conformance-tools.ts";

let directory = "";
let executor: TestExecutor;
let client: GrpcExecutorClient;
let bootId = "";
let made = 0;

beforeAll(async () => {
  directory = await mkdtemp(`${tmpdir()}/processes-`);
  const env = { PATH: process.env.PATH, FROM_CONTAINER: "container", BOTH: "container", ALL: "container" };
  executor = await startTestExecutor(`${directory}/s`, {}, env);
  client = new GrpcExecutorClient(executor.socketPath);
  bootId = (await client.health()).bootId;
});

afterAll(async () => {
  client.close();
  await executor.end("SIGTERM");
  await rm(directory, { recursive: true });
});

async function start(over: Partial<ExecuteRequest>): Promise<ExecutionId> {
  const id = { runUid: over.runUid ?? `run-${made++}`, attempt: 1 };
  await client.execute({ ...id, bootId, workingDir: directory, args: [], env: {}, ...over });
  return id;
}

/** Runs a script as a Run with inline source does. */
async function startScript(text: string, over: Partial<ExecuteRequest> = {}): Promise<ExecutionId> {
  const runUid = `run-${made++}`;
  const script = `${directory}/script-${runUid}`;
  await writeFile(script, text, { mode: 0o755 });
  return await start({ runUid, script, ...over });
}

async function outcome(id: ExecutionId) {
  const events = await eventsOf(client, id);
  return { ...exitOf(events), stdout: outputOf(events).toString(), stderr: outputOf(events, "stderr").toString() };
}

const processesOf = (id: ExecutionId) => systemProcesses.scan().filter((entry) => entry.marks?.runUid === id.runUid);
const isAlive = (pid: number) => systemProcesses.scan().some((entry) => entry.pid === pid);

/** Numbers that the script has printed, one a line, once there are `count` of them. */
async function printedNumbers(id: ExecutionId, count: number): Promise<number[]> {
  const stop = new AbortController();
  let text = "";
  await client.watch(
    id,
    0,
    (event) => {
      if (event.kind === "output") text += Buffer.from(event.bytes).toString();
      if (text.split("\n").length > count) stop.abort();
    },
    stop.signal,
  );
  return text.split("\n").slice(0, count).map(Number);
}

const families: Record<string, { script: string; processes: number }> = {
  "children in the group": { script: "sleep 100 & echo $!; sleep 100 & echo $!; wait", processes: 2 },
  "children that ignore SIGTERM": {
    script: "(trap '' TERM; echo $BASHPID; sleep 100 & wait; sleep 100) & wait",
    processes: 1,
  },
  "a session of its own": { script: "setsid bash -c 'echo $$; exec sleep 100' & sleep 100", processes: 1 },
  "a group of its own, as timeout makes": {
    script: "timeout 100 bash -c 'echo $PPID; echo $$; sleep 100'; sleep 1",
    processes: 2,
  },
  "an orphan in a session of its own": {
    script: "(setsid bash -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' &) ; sleep 100",
    processes: 1,
  },
  "a child without our environment": { script: "env -i bash -c 'echo $$; exec sleep 100' & wait", processes: 1 },
  "a stopped process": { script: "bash -c 'echo $$; kill -STOP $$; sleep 100' & wait", processes: 1 },
};

test.concurrent.each(Object.entries(families))("Cancel finds and ends %s", async (_, { script, processes }) => {
  const id = await startScript(script);
  const pids = await printedNumbers(id, processes);
  expect(pids.every(isAlive)).toBe(true);
  await client.cancel(id, 200);
  expect(pids.filter(isAlive)).toEqual([]);
  expect(processesOf(id)).toEqual([]);
  expect((await outcome(id)).cause).toBe("cancelled");
});

test.concurrent("SIGTERM reaches every process once", async () => {
  const trap = (name: string) => `trap 'echo ${name}; exit 0' TERM; echo ready; while :; do sleep 0.01; done`;
  const id = await startScript(`(${trap("group")}) & setsid bash -c "${trap("session")}" & ${trap("leader")}`);
  await until(
    "all are ready",
    async () =>
      outputOf(await soFar(id))
        .toString()
        .split("ready").length === 4,
  );
  await client.cancel(id, 5000);
  const { stdout } = await outcome(id);
  const words = stdout.split("\n").filter((line) => line !== "" && line !== "ready");
  expect(words.sort()).toEqual(["group", "leader", "session"]);
});

/** Events that exist now. */
async function soFar(id: ExecutionId) {
  const last = (await client.list()).find((entry) => entry.runUid === id.runUid)?.lastSeq ?? 0;
  const events: Awaited<ReturnType<typeof eventsOf>> = [];
  if (last === 0) return events;
  const stop = new AbortController();
  await client.watch(
    id,
    0,
    (event) => {
      events.push(event);
      if (event.seq >= last) stop.abort();
    },
    stop.signal,
  );
  return events;
}

test.concurrent("the exit code of a script wins over what it left behind, which is killed and counted", async () => {
  const id = await startScript("sleep 100 & echo $!; exit 3");
  const result = await outcome(id);
  expect(result).toMatchObject({ cause: "exited", exitCode: 3, leftoverProcesses: 1 });
  expect(result.message).toBe("1 process that the program left behind was killed");
  expect(isAlive(Number(result.stdout))).toBe(false);
});

test.concurrent("a leftover that closed its output is killed before the end too", async () => {
  const id = await startScript("sleep 100 > /dev/null 2>&1 & echo $!");
  const result = await outcome(id);
  expect(result).toMatchObject({ exitCode: 0, leftoverProcesses: 1 });
  expect(isAlive(Number(result.stdout))).toBe(false);
});

test.concurrent("a leftover in a session of its own that holds the output does not hold up the end", async () => {
  const id = await startScript("setsid sleep 100 & echo $!");
  const result = await outcome(id);
  expect(result).toMatchObject({ exitCode: 0, leftoverProcesses: 1 });
  expect(isAlive(Number(result.stdout))).toBe(false);
});

test.concurrent("a daemon that hides in a session of its own without output is found after the end", async () => {
  const id = await startScript(
    "setsid bash -c 'echo $$ > $OUT; exec sleep 100' > /dev/null 2>&1 &\nuntil [ -s $OUT ]; do :; done",
    {
      env: { OUT: `${directory}/daemon` },
    },
  );
  expect(await outcome(id)).toMatchObject({ exitCode: 0 });
  const daemon = Number(await readFile(`${directory}/daemon`, "utf8"));
  await client.forget(id);
  await until("the daemon is gone", async () => !isAlive(daemon));
});

test.concurrent("what a filter behind the script still writes is not lost", async () => {
  const id = await startScript("exec > >(sleep 0.2; sed s/^/filtered:/)\nprintf 'one\\ntwo\\n'");
  expect(await outcome(id)).toMatchObject({ stdout: "filtered:one\nfiltered:two\n", leftoverProcesses: 0 });
});

test.concurrent("the process leads a group and a session, reads nothing and starts in its directory", async () => {
  const id = await startScript(
    'read -r line; echo "got $? [$line]"; pwd; ps -o pid=,pgid=,sid= -p $$ || cat /proc/$$/stat',
  );
  const { stdout } = await outcome(id);
  const [read, cwd, numbers = ""] = stdout.split("\n");
  expect([read, cwd]).toEqual(["got 1 []", directory]);
  expect(new Set(numbers.trim().split(/\s+/)).size).toBe(1);
});

test.concurrent("arguments arrive as they are", async () => {
  const args = ["", "two words", "*", "$HOME", 'quo"te', "new\nline", "ünï ☃", "-n"];
  const id = await startScript('printf "[%s]" "$@"', { args });
  expect((await outcome(id)).stdout).toBe(args.map((arg) => `[${arg}]`).join(""));
});

test.concurrent("container, user, platform: a later variable wins, and the marks cannot be forged", async () => {
  const id = await startScript("env -0", {
    env: { BOTH: "user", ALL: "user", ODD: "a=b\n", KRUNTIME_RUN_UID: "forged", KRUNTIME_ATTEMPT: "7" },
    platformEnv: { ALL: "platform", KRUNTIME_ATTEMPT: "8" },
  });
  const { stdout } = await outcome(id);
  const env = Object.fromEntries(
    stdout.split("\0").map((item) => [item.slice(0, item.indexOf("=")), item.slice(item.indexOf("=") + 1)]),
  );
  expect(env).toMatchObject({
    FROM_CONTAINER: "container",
    BOTH: "user",
    ALL: "platform",
    ODD: "a=b\n",
    KRUNTIME_RUN_UID: id.runUid,
    KRUNTIME_ATTEMPT: "1",
    KRUNTIME_EXECUTOR: executor.socketPath,
  });
});

test.concurrent("the output streams can be opened by name, as scripts do", async () => {
  const id = await startScript("echo oops > /dev/stderr; echo fine | tee /dev/stdout");
  expect(await outcome(id)).toMatchObject({ exitCode: 0, stdout: "fine\nfine\n", stderr: "oops\n" });
});

test.concurrent("bytes that are not text arrive as they are", async () => {
  const id = await startScript("printf '\\xff\\x00\\xc3\\x28\\n'; printf '\\xe2\\x82' >&2; printf '\\xac' >&2");
  const events = await eventsOf(client, id);
  expect(outputOf(events).toString("hex")).toBe("ff00c3280a");
  expect(outputOf(events, "stderr").toString()).toBe("€");
});

test.concurrent("a script of 256 KiB runs to its end", async () => {
  const filler = `# ${"x".repeat(1021)}\n`.repeat(255);
  const id = await startScript(`${filler}echo the end\n`);
  expect((await outcome(id)).stdout).toBe("the end\n");
});

test.concurrent("a shebang is honoured", async () => {
  const id = await startScript('#!/usr/bin/env -S sh -c \'echo through "$0" "$1"\'\n', { args: ["x"] });
  expect((await outcome(id)).stdout).toMatch(/^through .*script-run-\d+ x\n$/);
});

test.concurrent("a script that somebody still has open for writing is started when it is closed", async () => {
  // What another process was starting meanwhile can hold a copy of the writer's file for an instant.
  const script = `${directory}/busy`;
  await writeFile(script, "#!/bin/sh\necho started\n", { mode: 0o755 });
  const writer = await open(script, "r+");
  const starting = start({ runUid: "busy", script });
  await until("the executor knows of it", async () => (await client.list()).some((entry) => entry.runUid === "busy"));
  await writer.close();
  expect((await outcome(await starting)).stdout).toBe("started\n");
});

test.concurrent("a command without a script is any program", async () => {
  expect(await outcome(await start({ args: ["sh", "-c", "echo $0 $1; exit 4", "a", "b"] }))).toMatchObject({
    exitCode: 4,
    stdout: "a b\n",
  });
});

const failures: Record<string, { over: Partial<ExecuteRequest>; exitCode: number; says: string }> = {
  "a program that does not exist": {
    over: { args: ["no-such-program"] },
    exitCode: 127,
    says: "no-such-program was not found",
  },
  "a directory": { over: { args: ["/"] }, exitCode: 126, says: "not executable" },
  "a working directory that is gone": {
    over: { args: ["true"], workingDir: "/none" },
    exitCode: 127,
    says: "/none does not exist",
  },
  "an argument larger than the kernel takes": {
    over: { args: ["true", "x".repeat(200_000)] },
    exitCode: 126,
    says: "larger than the kernel takes",
  },
};

test.concurrent.each(Object.entries(failures))(
  "%s is an end with code and message",
  async (_, { over, exitCode, says }) => {
    const result = await outcome(await start(over));
    expect(result).toMatchObject({ cause: "start-failed", exitCode });
    expect(result.message).toContain(says);
  },
);

test.concurrent("a program that nobody reads writes no more than the bound, and goes on when somebody does", async () => {
  const id = await startScript("for ((i = 1; i <= 256; i++)); do printf '%016384d' $i; echo $i > $OUT; done", {
    env: { OUT: `${directory}/progress` },
  });
  await until("it stands still", () => standsStill(id));
  // 256 KiB retained, and what the pipe, a read and a write hold; far from the 4 MiB that it wants to write.
  expect(Number(await readFile(`${directory}/progress`, "utf8"))).toBeLessThan(40);
  const { stdout, exitCode } = await outcome(id);
  expect([stdout.length, exitCode]).toEqual([4 * 1024 * 1024, 0]);
});

/** Whether its first process sleeps in the middle of a write to a full pipe. */
async function standsStill(id: ExecutionId): Promise<boolean> {
  const [leader] = processesOf(id);
  if (leader === undefined) return false;
  return (await readFile(`/proc/${leader.pid}/wchan`, "latin1")).includes("pipe");
}
