/**
 * `npm run statecharts:diff -- <git-ref>` prints how the statecharts differ from those of another commit: a table, and one
 * Mermaid diagram with what was added in green and what was removed in red. With `--merge-base` in place of a ref it takes
 * the commit at which this branch left the main one, and on the main branch the commit before.
 */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lifecycles } from "#machines/index.ts";
import { type ChartModel, describe } from "#machines/lib/describe.ts";
import { type ChartDiff, diffCharts } from "#machines/lib/diff.ts";
import { diffMermaid } from "#machines/lib/diff-mermaid.ts";
import { markdownTable } from "#machines/lib/table.ts";

/** All that the charts of a commit need to be loaded. */
const sources = ["machines", "api", "package.json"];

/** Run in a process of its own, so that code of another commit cannot get between ours. */
const loader = `
const { lifecycles } = await import(process.argv[1]);
const { describe } = await import(process.argv[2]);
process.stdout.write(JSON.stringify(lifecycles.map(({ machine }) => describe(machine))));`;

/** Something that the caller can put right, said in one line. */
class DiffError extends Error {
  override readonly name = "DiffError";
}

function git(root: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync("git", ["-C", root, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return undefined;
  }
}

/** The commit that a ref names. */
export function resolve(root: string, ref: string): string {
  const commit = git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`);
  if (commit === undefined) throw new DiffError(`"${ref}" names no commit here; fetch it first, or give another ref`);
  return commit;
}

/** Where this branch left the main one; on the main branch the commit before; undefined when there is neither. */
export function mergeBase(root: string): string | undefined {
  const head = git(root, "rev-parse", "HEAD");
  for (const main of ["origin/HEAD", "origin/main", "main"]) {
    const base = git(root, "merge-base", "HEAD", main);
    if (base !== undefined && base !== head) return base;
  }
  return git(root, "rev-parse", "--verify", "--quiet", "HEAD^");
}

/** The charts of a commit, as this version describes them; none when it had no charts yet. */
export async function chartsAt(root: string, commit: string): Promise<ChartModel[]> {
  if (git(root, "cat-file", "-e", `${commit}:machines/index.ts`) === undefined) return [];
  const folder = await mkdtemp(join(tmpdir(), "statecharts-"));
  try {
    const tree = join(folder, "tree");
    await mkdir(tree);
    const archive = execFileSync("git", ["-C", root, "archive", "--format=tar", commit, ...sources], {
      maxBuffer: 256 * 1024 * 1024,
    });
    execFileSync("tar", ["-x", "-C", tree], { input: archive });
    await symlink(join(import.meta.dirname, "../node_modules"), join(tree, "node_modules"));
    const files = [join(tree, "machines/index.ts"), join(import.meta.dirname, "../machines/lib/describe.ts")];
    const shown = execFileSync(process.execPath, ["--input-type=module", "-e", loader, ...files], {
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
      stdio: ["ignore", "pipe", "pipe"],
    });
    return JSON.parse(shown) as ChartModel[];
  } catch (cause) {
    const said = cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim() : String(cause);
    throw new DiffError(`the statecharts of ${commit} cannot be loaded: ${said}`, { cause });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What a reviewer reads. */
export function report(diffs: readonly ChartDiff[], since: string): string {
  if (diffs.length === 0) return `No statechart differs from ${since}.\n`;
  const rows = diffs.flatMap(({ differences }) =>
    differences.map(({ chart, change, kind, name, details }) => [
      chart,
      change,
      kind,
      `\`${name}\``,
      details.join("; "),
    ]),
  );
  return [
    `# Statecharts since ${since}`,
    "",
    markdownTable(["Chart", "Change", "What", "Name", "How"], rows),
    "Green was added, red was removed, yellow was altered, grey is as it was.",
    "",
    "```mermaid",
    `${diffMermaid(diffs)}\`\`\``,
    "",
  ].join("\n");
}

/** The report on the working tree of this repository. */
export async function run(root: string, ref: string | undefined): Promise<string> {
  if (ref === undefined) throw new DiffError("name the commit to compare with: npm run statecharts:diff -- <git-ref>");
  const base = ref === "--merge-base" ? mergeBase(root) : resolve(root, ref);
  if (base === undefined) return "There is no earlier commit to compare the statecharts with.\n";
  const now = lifecycles.map(({ machine }) => describe(machine));
  return report(diffCharts(await chartsAt(root, base), now), ref === "--merge-base" ? base.slice(0, 12) : ref);
}

if (import.meta.main) {
  try {
    process.stdout.write(await run(join(import.meta.dirname, ".."), process.argv[2]));
  } catch (error) {
    if (!(error instanceof DiffError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
