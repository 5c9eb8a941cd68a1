/** Components and a chart that disagree, by a fault in one of them, must not turn in circles without end. */
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { arrangementsOf } from "./arrangements/index.ts";
import { Recorder, substitute } from "./arrangements/recorder.ts";
import { modelled } from "./models.ts";
import { deleted } from "./mutants.ts";

let undo = () => {};
afterEach(() => undo());

test("a scheduler whose placements the chart refuses tries again after a pause, not at once", async () => {
  const run = modelled.find(({ name }) => name === "run");
  const mutant = run && deleted(run).find(({ name }) => name === "run: Pending ASSIGN is gone");
  if (run === undefined || mutant === undefined) throw new RangeError("no such fault");
  undo = substitute(run.machine, mutant.machine);
  const recorder = new Recorder();
  const arrangements = arrangementsOf("run");
  const stage = await arrangements.scenes[0]?.build();
  if (stage === undefined) throw new RangeError("no scene");
  try {
    await arrangements.perform(stage, { type: "ASSIGN" });
    for (let n = 0; n < 100; n++) await turn();
    const tries = recorder.records.filter(({ event }) => event.type === "ASSIGN").length;
    expect(tries).toBeGreaterThan(0);
    expect(tries).toBeLessThan(10);
  } finally {
    await stage.stop();
    recorder.stop();
  }
});
