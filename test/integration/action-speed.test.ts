/** How long an action takes does not depend on how many runs are at work. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { namespaces } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { ActionBench } from "#test/support/action-latency.ts";
import { TestCluster } from "./support/cluster.ts";

const namespace = "speed";
const samples = 40;
/** Bare status writes from the creation of an action to its answer. */
const budget = 6;

let cluster: TestCluster;
let bench: ActionBench;
beforeAll(async () => {
  cluster = await TestCluster.start();
  await cluster.client.of(namespaces).create({ metadata: { name: namespace } });
  bench = await new ActionBench({ client: createClient(cluster.transport), namespace, samples }).start();
});
afterAll(async () => {
  await bench?.stop();
  await cluster?.stop();
});

test.each([1, 100, 1000])("with %i runs at work an action is answered within 6 bare status writes", async (running) => {
  await bench.prepare(running, cluster.client);
  // What else the machine does comes on top of both, and not evenly: the best of some rounds counts.
  const ratios: number[] = [];
  while (ratios.length < 5 && ratios.every((ratio) => ratio > budget)) {
    const { floorMs, p50Ms, ratio, undisturbed } = await bench.measure();
    console.log(`${running} at work: ${p50Ms.toFixed(1)} / ${floorMs.toFixed(1)} ms = ${ratio.toFixed(1)} writes`);
    ratios.push(Math.min(ratio, undisturbed));
  }
  expect(Math.min(...ratios)).toBeLessThanOrEqual(budget);
});
