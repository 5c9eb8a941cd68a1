import type { RunSpec } from "#api/kinds/run.ts";
import { runtimePodTopology } from "#api/labels.ts";
import { persistentWorkspaces, runs } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import type { Dice } from "../dice.ts";
import type { Person } from "./person.ts";

/** Values of the label `app` of Runs, for affinity. */
const apps = ["web", "db", "lab"];

/** Something that a program does, one line each; see `script.ts`. */
export function randomScript(dice: Dice): string[] {
  const lines = [
    `sim lasts ${dice.weighted({ short: 5, medium: 3, long: 1 }) === "short" ? dice.int(1, 900) : dice.int(1000, 30_000)}`,
  ];
  switch (dice.weighted({ good: 12, fails: 3, recovers: 3, killed: 1, stubborn: 1, unstartable: 0.5 })) {
    case "fails":
      lines.push(`sim exits ${dice.int(1, 3)}`);
      break;
    case "recovers":
      lines.push(`sim fails-until ${dice.int(2, 3)}`);
      break;
    case "killed":
      lines.push("sim killed-by SIGKILL");
      break;
    case "stubborn":
      lines.push("sim ignores-sigterm");
      break;
    case "unstartable":
      lines.push("sim cannot-start");
      break;
    case "good":
      break;
  }
  if (dice.chance(0.3)) lines.push(`sim prints hello ${dice.int(1, 99)}`);
  return lines;
}

/** A Run of its own: with or without a workspace, and with everything that a spec can say. */
export async function createRun(person: Person, runtimeNames: readonly string[]): Promise<void> {
  const { dice } = person;
  const name = person.name("run");
  const lines = randomScript(dice);
  const workspace = dice.chance(0.3)
    ? person.any(persistentWorkspaces, ({ metadata }) => metadata.ownerReferences === undefined)
    : undefined;
  if (workspace !== undefined || dice.chance(0.3)) lines.push(`sim file ${name}.txt written by ${name}`);
  if (dice.chance(0.3)) lines.push(`sim output made-by ${name}`);
  if (dice.chance(0.15)) lines.push(`sim artifact ${name}.bin`);
  const spec: RunSpec = {
    runtime: workspace?.spec.runtime ?? (dice.chance(0.03) ? "absent" : dice.pick(runtimeNames)),
    source: { inline: lines.join("\n") },
    ...(workspace === undefined ? {} : { workspace: { name: workspace.metadata.name } }),
    ...(dice.chance(0.3) ? { timeout: `${dice.int(1, 25)}s` } : {}),
    ...(dice.chance(0.6) ? { retryPolicy: { maxAttempts: dice.int(1, 4), backoff: `${dice.int(0, 3000)}ms` } } : {}),
    ...(dice.chance(0.3) ? { priority: dice.int(-2, 2) } : {}),
    ...(dice.chance(0.35) ? { resources: { requests: requests(dice) } } : {}),
    ...(dice.chance(0.25) ? { affinity: affinity(dice) } : {}),
    ...(dice.chance(0.3) ? { ttlSecondsAfterFinished: dice.int(0, 40) } : {}),
  };
  await person.create(runs, { metadata: { name, labels: { app: dice.pick(apps) } }, spec });
}

/** Now and then more than any Pod has. */
function requests(dice: Dice): Record<string, string | number> {
  if (dice.chance(0.05)) return { runs: 99 };
  return { runs: dice.int(1, 2), ...(dice.chance(0.4) ? { gpu: 1 } : {}) };
}

function affinity(dice: Dice): NonNullable<RunSpec["affinity"]> {
  const term = { labelSelector: { matchLabels: { app: dice.pick(apps) } }, topologyKey: runtimePodTopology };
  const side = dice.pick(["runAffinity", "runAntiAffinity"] as const);
  return {
    [side]: dice.chance(0.5)
      ? { requiredDuringSchedulingIgnoredDuringExecution: [term] }
      : { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: dice.int(1, 100), runAffinityTerm: term }] },
  };
}

export async function createWorkspace(person: Person, runtimeNames: readonly string[]): Promise<void> {
  const { dice } = person;
  await person.create(persistentWorkspaces, {
    metadata: { name: person.name("ws") },
    spec: {
      runtime: dice.pick(runtimeNames),
      ...(dice.chance(0.6) ? { ttlSecondsAfterUnused: dice.int(1, 40) } : {}),
      ...(dice.chance(0.2) ? { cleanupPolicy: "Retain" as const } : {}),
    },
  });
}

export async function cancelRun(person: Person): Promise<void> {
  const run = person.any(runs, ({ status, spec }) => !isTerminal(status?.phase) && spec.termination === undefined);
  if (run === undefined) return;
  await person.patch(runs, run.metadata.name, { spec: { termination: { mode: "Immediate", message: "not needed" } } });
}

export async function deleteRun(person: Person): Promise<void> {
  const run = person.any(runs);
  if (run !== undefined) await person.delete(runs, run.metadata.name);
}

export async function deleteWorkspace(person: Person): Promise<void> {
  const workspace = person.any(persistentWorkspaces);
  if (workspace !== undefined) await person.delete(persistentWorkspaces, workspace.metadata.name);
}
