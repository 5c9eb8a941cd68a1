/**
 * `npm run fuzz -- --minutes N [--target NAME] [--seed S]` fuzzes all targets, or one; each gets its part of the time.
 * `--target NAME --seed S --path P` tries one input again, as a failure says it.
 */
import { parseArgs } from "node:util";
import { supervise } from "#test/fuzz/supervise.ts";
import { targets } from "#test/fuzz/targets.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    target: { type: "string" },
    seed: { type: "string" },
    path: { type: "string" },
  },
});

const names = targets.map(({ name }) => name);
const chosen = targets.filter(({ name }) => values.target === undefined || name === values.target);
if (chosen.length === 0) throw new Error(`--target: no target "${values.target}"; there are ${names.join(", ")}`);
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error(`--minutes: "${values.minutes}" is no positive number`);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
if (!Number.isSafeInteger(seed)) throw new Error(`--seed: "${values.seed}" is no whole number`);
if (values.path !== undefined && (values.target === undefined || values.seed === undefined)) {
  throw new Error("--path needs the --target and the --seed that it was found with");
}

const module = import.meta.resolve("#test/fuzz/targets.ts");
const forMs = values.path === undefined ? (minutes * 60_000) / chosen.length : undefined;
const width = Math.max(...names.map((name) => name.length));
console.log(`seed ${seed}, ${chosen.length} targets, ${minutes} min`);
for (const target of chosen) {
  const report = await supervise({ module, target, seed, forMs, path: values.path });
  const { executions, outcomes, seconds, failure } = report;
  const rate = (executions / seconds).toFixed(0);
  const parts = Object.entries(outcomes).map(([name, count]) => `${name} ${count}`);
  console.log(`${target.name.padEnd(width)}  ${executions} executions, ${rate}/s (${parts.join(", ")})`);
  if (failure === undefined) continue;
  process.exitCode = 1;
  const again = `npm run fuzz -- --target ${target.name} --seed ${failure.seed} --path ${failure.path}`;
  console.log(
    [
      `  FAILED. What must hold: ${target.holds}`,
      `  input (made smaller ${failure.shrinks} times): ${failure.input}`,
      `  ${failure.error.replaceAll("\n", "\n  ")}`,
      `  again: ${again}`,
    ].join("\n"),
  );
}
