/** `npm run sim -- --seeds N [--from S]` simulates many worlds; `--seed S --trace` shows one of them. */
import { parseArgs } from "node:util";
import { explainFailure } from "#test/simulation/failure.ts";
import { type FaultKind, faultKinds } from "#test/simulation/faults.ts";
import { type SimulationResult, simulate } from "#test/simulation/simulate.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    without: { type: "string" },
    deeds: { type: "string" },
    trace: { type: "boolean", default: false },
    seen: { type: "boolean", default: false },
  },
});

const without = new Set<FaultKind>();
for (const name of (values.without ?? "").split(",").filter(Boolean)) {
  const kind = faultKinds.find((each) => each === name);
  if (kind === undefined) throw new Error(`--without: no fault "${name}"; there are ${faultKinds.join(", ")}`);
  without.add(kind);
}
const deeds = values.deeds === undefined ? Number.POSITIVE_INFINITY : Number(values.deeds);
const from = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;

/** Making a failure shorter takes dozens of simulations, so only the first ones are. */
const maxExplained = 2;

const violationsOf = ({ seed, violations }: SimulationResult) =>
  violations.map(({ rule, subject, details }) => `seed ${seed}: ${rule}: ${subject}: ${details}`).join("\n");

const begun = performance.now();
const failures: SimulationResult[] = [];
const faults = new Map<string, number>();
const seen = new Map<string, number>();
let lasted = 0;
for (let seed = from; seed < from + count; seed++) {
  const result = await simulate({ seed, without, deeds });
  lasted += result.lasted;
  for (const [kind, times] of result.faults) faults.set(kind, (faults.get(kind) ?? 0) + times);
  for (const [what, times] of result.seen) seen.set(what, (seen.get(what) ?? 0) + times);
  if (values.trace) console.log(result.trace.lines.join("\n"));
  if (result.violations.length === 0) continue;
  failures.push(result);
  const explains = !values.trace && failures.length <= maxExplained;
  console.log(explains ? await explainFailure(result, { seed, without, deeds }) : violationsOf(result));
}
const seconds = (performance.now() - begun) / 1000;
const list = (counts: ReadonlyMap<string, number>) =>
  [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, times]) => `  ${name}: ${times}`)
    .join("\n");
console.log(`faults:\n${list(faults)}`);
if (values.seen) console.log(`seen:\n${list(seen)}`);
console.log(
  `${count} seeds, ${failures.length} failed, ${(count / seconds).toFixed(2)} seeds/s, ${(lasted / 3_600_000).toFixed(2)} virtual hours in ${seconds.toFixed(1)} s`,
);
if (failures.length > 0) {
  console.log(`failed: ${failures.map(({ seed }) => seed).join(" ")}`);
  process.exitCode = 1;
}
