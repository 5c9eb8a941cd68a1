import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { diffCharts } from "#machines/lib/diff.ts";
import { chartsAt, mergeBase, report, resolve, run } from "./statecharts-diff.ts";

/** A repository with one small chart, which changes from commit to commit. */
let root: string;
const commits: Record<string, string> = {};

const git = (...args: string[]) => execFileSync("git", ["-C", root, ...args], { encoding: "utf8" }).trim();

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

function commit(name: string): void {
  git("add", "-A");
  git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", name);
  commits[name] = git("rev-parse", "HEAD");
}

const chart = (pause: string) => `
import { setup } from "xstate";
import { writer } from "#api/writer.ts";
const meta = { writer };
const machine = setup({ guards: { isDue: () => true } }).createMachine({
  id: "light",
  description: "A light.",
  initial: "Off",
  states: {
    Off: { description: "Dark.", on: { SWITCH: { target: "On", guard: "isDue", description: "It goes on.", meta } } },
    On: { description: "Bright.", on: { ${pause} SWITCH: { target: "Off", description: "It goes off.", meta } } },
  },
});
export const lifecycles: readonly { name: string; machine: typeof machine }[] = [{ name: "light", machine }];
`;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "charts-"));
  git("init", "-q", "-b", "main");
  await write("readme", "nothing yet");
  commit("empty");
  await write("package.json", JSON.stringify({ type: "module", imports: { "#api/*": "./api/*" } }));
  await write("api/writer.ts", 'export const writer = "user";');
  await write("machines/index.ts", chart(""));
  commit("first");
  git("switch", "-q", "-c", "work");
  await write("api/writer.ts", 'export const writer = "controller";');
  await write("machines/index.ts", chart('BREAK: { target: "Off", description: "It is broken.", meta },'));
  commit("second");
  await write("machines/index.ts", "export const lifecycles = nowhere;");
  commit("broken");
});

afterAll(() => rm(root, { recursive: true, force: true }));

test("the charts of another commit are loaded with the sources that they had", async () => {
  const [light] = await chartsAt(root, commits.first ?? "");
  expect(light?.transitions.map(({ id, writers }) => [id, ...writers])).toEqual([
    ["Off SWITCH", "user"],
    ["On SWITCH", "user"],
  ]);
});

test("what changed between two commits is a table and one drawing", async () => {
  const [before, after] = [await chartsAt(root, commits.first ?? ""), await chartsAt(root, commits.second ?? "")];
  const text = report(diffCharts(before, after), "main");
  expect(text).toContain("# Statecharts since main");
  expect(text).toContain("| light | added | transition | `On BREAK` |  |");
  expect(text).toContain("| light | altered | transition | `Off SWITCH [isDue]` | writers: user -> controller |");
  expect(text).toContain('c0_On -->|"BREAK"| c0_Off');
  expect(text.match(/```mermaid/g)).toHaveLength(1);
});

test("a commit without charts had none", async () => {
  const after = await chartsAt(root, commits.first ?? "");
  const diffs = diffCharts(await chartsAt(root, commits.empty ?? ""), after);
  expect(diffs.map(({ chart: name, differences }) => [name, differences[0]?.change])).toEqual([["light", "added"]]);
  expect(report(diffCharts(after, after), "main")).toBe("No statechart differs from main.\n");
});

test("charts that cannot be loaded, and refs that name nothing, are said to be so", async () => {
  await expect(chartsAt(root, commits.broken ?? "")).rejects.toThrow(/cannot be loaded: [\s\S]*nowhere is not defined/);
  expect(() => resolve(root, "nonsense")).toThrow('"nonsense" names no commit here');
  expect(() => resolve(root, "--all")).toThrow('"--all" names no commit here');
  await expect(run(root, undefined)).rejects.toThrow("npm run statecharts:diff -- <git-ref>");
});

test("the base of a branch is where it left the main one, of the main one the commit before, of the first one none", () => {
  expect(mergeBase(root)).toBe(commits.first);
  git("switch", "-q", "main");
  expect(mergeBase(root)).toBe(commits.empty);
  git("switch", "-q", "--detach", commits.empty ?? "");
  git("branch", "-q", "-f", "main", commits.empty ?? "");
  expect(mergeBase(root)).toBeUndefined();
});

test("this repository is compared with itself", async () => {
  expect(await run(join(import.meta.dirname, ".."), "HEAD")).toMatch(/^(No statechart differs|# Statecharts since)/);
});
