/**
 * `npm run statecharts:release` notes what the charts admit as what this release admits: part of making a release. With
 * `--check` it writes nothing and fails when the note is not that of the newest release, or when something that the
 * release could write is refused by now.
 */
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { kinds } from "#api/crd/kinds.ts";
import { type Lifecycle, lifecycles } from "#machines/index.ts";
import { describe } from "#machines/lib/describe.ts";
import { writerTables } from "#machines/lib/move-policy.ts";
import { transitionTable } from "#machines/lib/transition-rules.ts";
import type { Released } from "#machines/released.ts";

const path = "machines/released/charts.json";

/** What a release of these charts admits. Charts that are not the status of a kind have no rule. */
export function noteOf(release: string, charts: readonly Lifecycle[]): Released {
  const own = charts.filter(({ persistence }) => persistence?.path === "");
  return {
    release,
    charts: Object.fromEntries(
      own.map(({ name, machine }) => {
        const model = describe(machine);
        return [name, { table: transitionTable(model), writers: writerTables(model) }];
      }),
    ),
  };
}

/**
 * What the release could write and these schemas refuse. Moves are no cause for that, since rules and policies admit
 * them as long as the note has them; a chart or a phase that is gone is.
 * @param phasesOf the phases in the schema of the status that a chart is; undefined when there is no such chart.
 */
export function earlyRemovals(
  { release, charts }: Released,
  phasesOf: (chart: string) => readonly string[] | undefined,
): string[] {
  return Object.entries(charts).flatMap(([chart, { table }]) => {
    const phases = phasesOf(chart);
    if (phases === undefined) return [`release ${release} has the ${chart} chart: it can go one release later`];
    const written = new Set([...Object.keys(table.moves), ...Object.values(table.moves).flat()]);
    return [...written]
      .filter((phase) => !phases.includes(phase))
      .map((phase) => `release ${release} writes the phase ${phase} of ${chart}: the schema must keep it for one more`);
  });
}

/** The phases that the schema of a chart's status admits. */
export function schemaPhases(chart: string): readonly string[] | undefined {
  const kind = lifecycles.find(({ name }) => name === chart)?.persistence?.kind;
  if (kind === undefined) return undefined;
  const { phase } = kinds[kind].status.properties as { readonly phase: { readonly enum?: readonly string[] } };
  return phase.enum ?? [];
}

/** Whether the note is that of the newest release. */
export function staleNote(
  note: string,
  newest: { readonly tag: string; readonly note: string | undefined } | undefined,
  next: string,
): string[] {
  const { release } = JSON.parse(note) as Released;
  if (release === next) return []; // the release under way
  if (newest === undefined) return release === null ? [] : [`${path} is of release ${release}, which has no tag`];
  // A release without a note is from before there were any.
  if (newest.note === undefined || newest.note === note) return [];
  return [`${path} is not what release ${newest.tag} has there: only \`npm run statecharts:release\` changes it`];
}

function git(root: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync("git", ["-C", root, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return undefined;
  }
}

/** The newest tag of a release that this commit comes after, and the note that it has. */
export function newestRelease(root: string): { tag: string; note: string | undefined } | undefined {
  const tag = git(root, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")?.trim();
  return tag === undefined || tag === "" ? undefined : { tag, note: git(root, "show", `${tag}:${path}`) };
}

async function main(root: string): Promise<void> {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  if (!process.argv.includes("--check")) {
    await writeFile(join(root, path), `${JSON.stringify(noteOf(version, lifecycles), null, 2)}\n`);
    console.log(`${path}: release ${version}`);
    return;
  }
  const note = await readFile(join(root, path), "utf8");
  const complaints = [
    ...staleNote(note, newestRelease(root), version),
    ...earlyRemovals(JSON.parse(note) as Released, schemaPhases),
  ];
  for (const line of complaints) console.error(line);
  process.exitCode = complaints.length === 0 ? 0 : 1;
}

if (import.meta.main) await main(join(import.meta.dirname, ".."));
