import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { looksOutOfMemory, oomCounter } from "#runtime/executor/oom.ts";

test("the count is read from either layout of cgroups, and unknown without one", async () => {
  const directory = await mkdtemp(`${tmpdir()}/oom-`);
  const [v2, v1, none] = [`${directory}/memory.events`, `${directory}/memory.oom_control`, `${directory}/none`];
  await writeFile(v2, "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n");
  await writeFile(v1, "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  const count = oomCounter([v2, v1]);
  expect(count()).toBe(2);
  await writeFile(v2, "oom_kill 3\n");
  expect(count()).toBe(3);
  expect(oomCounter([none, v1])()).toBe(7);
  expect(oomCounter([none])()).toBeUndefined();
  await rm(directory, { recursive: true });
});

const cases: Record<
  string,
  { before?: number; after?: number; end: Parameters<typeof looksOutOfMemory>[2]; want: boolean }
> = {
  "killed while the killer acted": { before: 1, after: 2, end: { signal: "SIGKILL" }, want: true },
  "the shell's last command was killed while the killer acted": {
    before: 0,
    after: 1,
    end: { exitCode: 137 },
    want: true,
  },
  "killed, but the killer did not act": { before: 2, after: 2, end: { signal: "SIGKILL" }, want: false },
  "the killer acted on another execution": { before: 0, after: 1, end: { exitCode: 1 }, want: false },
  "the machine does not tell": { end: { signal: "SIGKILL" }, want: false },
};

test.each(Object.entries(cases))("%s", (_, { before, after, end, want }) => {
  expect(looksOutOfMemory(before, after, end)).toBe(want);
});
