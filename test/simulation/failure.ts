import { type FaultKind, faultKinds } from "./faults.ts";
import { type SimulationOptions, type SimulationResult, simulate } from "./simulate.ts";

/** Simulations that making a failure shorter may take. */
const maxTries = 40;

/** Words of a violation that name something, to find it in the trace. */
const wordsOf = (result: SimulationResult) =>
  result.violations.slice(0, 3).flatMap(({ subject }) => subject.split(" ").filter((word) => /[a-z].*-/.test(word)));

/**
 * A failed simulation for people: fewer faults and deeds that still break the same rule, the part of its trace that matters,
 * and how to see it again.
 */
export async function explainFailure(failed: SimulationResult, options: SimulationOptions): Promise<string> {
  const { result, options: short } = await shorten(failed, options);
  const without = [...(short.without ?? [])];
  const replay = [
    `npm run sim -- --seed ${result.seed}`,
    without.length === 0 ? "" : `--without ${without.join(",")}`,
    short.deeds === undefined || short.deeds === Number.POSITIVE_INFINITY ? "" : `--deeds ${short.deeds}`,
    "--trace",
  ];
  return [
    `seed ${result.seed} fails:`,
    ...result.violations.slice(0, 10).map(({ rule, subject, details }) => `  ${rule}: ${subject}: ${details}`),
    "trace (shortened):",
    ...result.trace.excerpt(wordsOf(result)).map((line) => `  ${line}`),
    `replay: ${replay.filter((part) => part !== "").join(" ")}`,
  ].join("\n");
}

interface Shortened {
  readonly result: SimulationResult;
  readonly options: SimulationOptions;
}

/** Leaves out what is not needed to break the same rule. */
async function shorten(failed: SimulationResult, options: SimulationOptions): Promise<Shortened> {
  const rule = failed.violations[0]?.rule;
  let best: Shortened = { result: failed, options };
  let tries = 0;
  const attempt = async (next: SimulationOptions): Promise<boolean> => {
    if (++tries > maxTries) return false;
    const result = await simulate(next);
    if (result.violations[0]?.rule !== rule) return false;
    best = { result, options: next };
    return true;
  };
  for (let deeds = Math.min(options.deeds ?? failed.deeds, failed.deeds) >> 1; deeds > 0; deeds >>= 1) {
    if (!(await attempt({ ...best.options, deeds }))) break;
  }
  for (const kind of faultKinds) {
    if (!failed.faults.has(kind)) continue;
    const without: ReadonlySet<FaultKind> = new Set([...(best.options.without ?? []), kind]);
    await attempt({ ...best.options, without });
  }
  return best;
}
