import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { lifecycles } from "#machines/index.ts";
import { released } from "#machines/released.ts";
import { earlyRemovals, newestRelease, noteOf, schemaPhases, staleNote } from "./statecharts-release.ts";

const note = noteOf("1.0.0", lifecycles);

test("the note has the charts that are the status of a kind, with their writers", () => {
  expect(Object.keys(note.charts).sort()).toEqual(["persistent-workspace", "run", "workflow-action", "workflow-run"]);
  expect(note.charts.run?.table.moves.Scheduled).toContain("Running");
  expect(Object.keys(note.charts.run?.writers ?? {}).sort()).toEqual(["agent", "controller", "scheduler"]);
});

test("nothing that the last release could write is refused", () => {
  expect(earlyRemovals(released, schemaPhases)).toEqual([]);
});

test("a release of the charts as they are can be followed by the charts as they are", () => {
  expect(earlyRemovals(note, schemaPhases)).toEqual([]);
});

test("a phase, or a chart, that goes together with its moves goes too early", () => {
  const phasesOf = (chart: string) => (chart === "run" ? ["Pending", "Scheduled", "Running", "Succeeded"] : undefined);
  const { run, "workflow-run": workflowRun } = note.charts;
  if (run === undefined || workflowRun === undefined) throw new RangeError("charts");
  expect(earlyRemovals({ release: "1.0.0", charts: { run, "workflow-run": workflowRun } }, phasesOf)).toEqual([
    "release 1.0.0 writes the phase Failed of run: the schema must keep it for one more",
    "release 1.0.0 writes the phase Timeout of run: the schema must keep it for one more",
    "release 1.0.0 writes the phase Cancelled of run: the schema must keep it for one more",
    "release 1.0.0 has the workflow-run chart: it can go one release later",
  ]);
});

const empty = '{"release":null,"charts":{}}';
const one = JSON.stringify(note);
const notes: Record<string, { note: string; newest: Parameters<typeof staleNote>[1]; complaints: number }> = {
  "nothing was released yet": { note: empty, newest: undefined, complaints: 0 },
  "the note is of the newest release": { note: one, newest: { tag: "v1.0.0", note: one }, complaints: 0 },
  "the note is of the release that is being made": {
    note: one.replace("1.0.0", "1.1.0"),
    newest: { tag: "v1.0.0", note: one },
    complaints: 0,
  },
  "the newest release had no notes yet": { note: empty, newest: { tag: "v0.1.0", note: undefined }, complaints: 0 },
  "the note was changed by hand": {
    note: one.replace('"Cancelled"', '"Canceled"'),
    newest: { tag: "v1.0.0", note: one },
    complaints: 1,
  },
  "the note is of an older release": { note: one, newest: { tag: "v1.0.5", note: `${one}\n` }, complaints: 1 },
  "a note without a release": { note: one, newest: undefined, complaints: 1 },
};

test.each(Object.entries(notes))("%s", (_, { note: text, newest, complaints }) => {
  expect(staleNote(text, newest, "1.1.0")).toHaveLength(complaints);
});

let root: string | undefined;
afterEach(async () => {
  if (root !== undefined) await rm(root, { recursive: true });
  root = undefined;
});

test("the newest release is found by its tag", async () => {
  const repository = await mkdtemp(join(tmpdir(), "release-"));
  root = repository;
  const git = (...args: string[]) => execFileSync("git", ["-C", repository, ...args], { stdio: "ignore" });
  const commit = async (text: string) => {
    const file = join(repository, "machines/released/charts.json");
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    git("add", "-A");
    git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "change");
  };
  git("init", "-q");
  await commit("first");
  expect(newestRelease(repository)).toBeUndefined();
  git("tag", "v1.0.0");
  git("tag", "other");
  await commit("second");
  expect(newestRelease(repository)).toEqual({ tag: "v1.0.0", note: "first" });
});
