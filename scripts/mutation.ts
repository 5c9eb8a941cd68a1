/**
 * `npm run test:mutation` puts one fault after the other into the statecharts, in memory, and looks for it with the
 * generated tests: every transition deleted, every transition led to every other state, every guard negated, every guard
 * taken for true. Prints how many each replay has found of those that it was given, who was missed and who survived; fails
 * when somebody was or did.
 */

import { markdownTable } from "#machines/lib/table.ts";
import { modelled } from "#test/model/models.ts";
import { type Finder, huntAll, type Tally } from "#test/model/mutation.ts";

const [only] = process.argv.slice(2);
const charts = modelled.filter(({ name }) => only === undefined || name === only);
if (charts.length === 0) {
  console.error(`no statechart "${only}"; there are ${modelled.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

// Components that work by a faulty chart may fail in ways that nobody waits for.
process.on("unhandledRejection", () => {});

const begun = performance.now();
const tallies: Tally[] = [];
for (const of of charts) tallies.push(await huntAll(of));

const finders: readonly Finder[] = ["pure", "status", "components"];
const rows = tallies.map(({ chart, faults, by, survivors }) => {
  const found = finders.map((finder) => {
    const { tried, missed } = by[finder];
    return tried === 0 ? "-" : `${tried - missed.length}/${tried}`;
  });
  return [chart, String(faults), ...found, String(survivors.length)];
});
console.log(markdownTable(["chart", "faults", ...finders, "survivors"], rows));

const complaints = tallies.flatMap(({ by, survivors }) => [
  ...survivors.map((name) => `survived: ${name}`),
  ...finders.flatMap((finder) => by[finder].missed.map((name) => `missed by the replay "${finder}": ${name}`)),
]);
for (const line of complaints) console.log(line);
const faults = tallies.reduce((sum, tally) => sum + tally.faults, 0);
const survivors = tallies.reduce((sum, tally) => sum + tally.survivors.length, 0);
console.log(`${faults} faults, ${survivors} survivors, ${Math.round((performance.now() - begun) / 1000)} s`);
process.exitCode = complaints.length === 0 ? 0 : 1;
