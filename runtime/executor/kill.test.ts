import { expect, test } from "vitest";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { killAll, membersOf } from "#runtime/executor/kill.ts";
import type { ProcessEntry, Processes, ProcessSignal } from "#runtime/executor/proc-scan.ts";

const ours = { runUid: "u", attempt: 1, executor: "/s" };
const owns = (marks: { runUid: string }) => marks.runUid === "u";

function entry(pid: number, over: Partial<ProcessEntry> = {}): ProcessEntry {
  return { pid, parent: 1, group: pid, session: pid, marks: undefined, ...over };
}

const alive = new AbortController().signal;
const exited = AbortSignal.abort("exited");

const cases: Record<string, { all: ProcessEntry[]; leader?: AbortSignal; want: number[] }> = {
  "a marked process belongs, wherever it is": { all: [entry(5, { marks: ours }), entry(6)], want: [5] },
  "a process of another attempt does not": { all: [entry(5, { marks: { ...ours, runUid: "v" } })], want: [] },
  "the group and the session of the leader belong, marked or not": {
    all: [entry(10), entry(11, { group: 10 }), entry(12, { group: 12, session: 10 }), entry(13)],
    leader: alive,
    want: [10, 11, 12],
  },
  "a group whose leader has ended and is gone still belongs": {
    all: [entry(11, { group: 10, session: 10 })],
    leader: exited,
    want: [11],
  },
  "a number that was given to a foreign process is not the leader any more": {
    all: [entry(10, { marks: { ...ours, runUid: "v" } }), entry(11, { group: 10, session: 10 })],
    leader: exited,
    want: [],
  },
  "descendants belong even without marks, group or session": {
    all: [entry(10, { marks: ours }), entry(20, { parent: 10 }), entry(30, { parent: 20 }), entry(40, { parent: 1 })],
    want: [10, 20, 30],
  },
};

test.each(Object.entries(cases))("%s", (_, { all, leader, want }) => {
  const target = leader === undefined ? { owns } : { owns, leader: { pid: 10, exited: leader } };
  expect(membersOf(target, all).map((member) => member.pid)).toEqual(want);
});

/** Processes that die of the signals given; `after` makes more appear. */
class FakeProcesses implements Processes {
  readonly sent: string[] = [];
  entries: ProcessEntry[];
  readonly #dies: (pid: number, signal: ProcessSignal) => boolean;
  onScan: (scan: number) => void = () => {};
  #scans = 0;

  constructor(entries: ProcessEntry[], dies: (pid: number, signal: ProcessSignal) => boolean) {
    this.entries = entries;
    this.#dies = dies;
  }

  scan(): readonly ProcessEntry[] {
    this.onScan(++this.#scans);
    return [...this.entries];
  }

  signal(pid: number, signal: ProcessSignal): boolean {
    this.sent.push(`${signal} ${pid}`);
    this.entries = this.entries.filter(
      (process) => !((pid < 0 ? process.group === -pid : process.pid === pid) && this.#dies(process.pid, signal)),
    );
    return true;
  }

  groupExists(group: number): boolean {
    return this.entries.some((process) => process.group === group);
  }
}

async function finished(clock: VirtualClock, killing: Promise<number>): Promise<number> {
  let result: number | undefined;
  void killing.then((count) => {
    result = count;
  });
  for (let step = 0; result === undefined && step < 10_000; step++) await clock.elapse(1);
  if (result === undefined) throw new Error("the killing did not end within 10 s");
  return result;
}

test("the group gets SIGTERM once as a whole, escapees each for themselves, nobody gets it twice", async () => {
  const clock = new VirtualClock();
  const processes = new FakeProcesses(
    [entry(10), entry(11, { group: 10 }), entry(12, { marks: ours })],
    (_, signal) => signal === "SIGTERM",
  );
  const killing = killAll({ owns, leader: { pid: 10, exited: alive } }, { due: 1000 }, { clock, processes });
  expect(await finished(clock, killing)).toBe(3);
  expect(processes.sent.filter((line) => line.startsWith("SIGTERM"))).toEqual(["SIGTERM -10", "SIGTERM 12"]);
  expect(processes.sent.some((line) => line.startsWith("SIGKILL"))).toBe(false);
  expect(clock.monotonic()).toBeLessThan(50);
});

test("what ignores SIGTERM gets SIGKILL when the grace is over, not before", async () => {
  const clock = new VirtualClock();
  const processes = new FakeProcesses([entry(10)], (_, signal) => signal === "SIGKILL");
  const killing = killAll({ owns, leader: { pid: 10, exited: alive } }, { due: 1000 }, { clock, processes });
  await clock.elapse(999);
  expect(processes.sent).toEqual(["SIGTERM -10", "SIGCONT -10"]);
  await finished(clock, killing);
  expect(processes.sent.slice(2)).toEqual(["SIGKILL -10"]);
  expect(clock.monotonic()).toBeLessThan(1050);
});

test("a grace that is lowered meanwhile counts", async () => {
  const clock = new VirtualClock();
  const processes = new FakeProcesses([entry(10)], (_, signal) => signal === "SIGKILL");
  const grace = { due: 60_000 };
  const killing = killAll({ owns, leader: { pid: 10, exited: alive } }, grace, { clock, processes });
  await clock.elapse(10);
  grace.due = 20;
  await finished(clock, killing);
  expect(clock.monotonic()).toBeLessThan(200);
});

test("clean-up commands that a program starts after SIGTERM are left alone during the grace", async () => {
  const clock = new VirtualClock();
  const processes = new FakeProcesses([entry(10)], () => false);
  processes.onScan = (scan) => {
    if (scan === 2) processes.entries.push(entry(20, { parent: 10 }));
    if (scan === 4) processes.entries = [];
  };
  await finished(clock, killAll({ owns, leader: { pid: 10, exited: alive } }, { due: 5000 }, { clock, processes }));
  expect(processes.sent).toEqual(["SIGTERM -10", "SIGCONT -10"]);
});

test("a process that hides in one scan, as during an exec, is found by the next", async () => {
  const clock = new VirtualClock();
  const processes = new FakeProcesses([], (_, signal) => signal === "SIGKILL");
  processes.onScan = (scan) => {
    if (scan === 2) processes.entries = [entry(12, { marks: ours })];
  };
  expect(await finished(clock, killAll({ owns }, { due: 0 }, { clock, processes }))).toBe(1);
  expect(processes.sent).toEqual(["SIGKILL 12"]);
});

test("processes that multiply are killed until none is left", async () => {
  const clock = new VirtualClock();
  const processes = new FakeProcesses([entry(10, { marks: ours })], (_, signal) => signal === "SIGKILL");
  processes.onScan = (scan) => {
    if (scan < 6) processes.entries.push(entry(100 + scan, { marks: ours }));
  };
  expect(await finished(clock, killAll({ owns }, { due: 0 }, { clock, processes }))).toBe(6);
  expect(processes.entries).toEqual([]);
});
