/**
 * `npm run bench:actions`: how long a WorkflowAction takes from its creation to its answer, in bare status writes of the same API
 * server, with 1, 100 and 1,000 WorkflowRuns at work. Without KUBECONFIG on the embedded cluster; with it on that one, whose
 * controllers are those that are installed there. `--json FILE` writes the numbers, `--samples N` takes more of them.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { namespaces } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { httpTransport } from "#kube/http-transport.ts";
import { loadClusterAccess } from "#kube/kubeconfig.ts";
import type { Client } from "#kube/resource.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import { TestCluster } from "#test/integration/support/cluster.ts";
import { ActionBench, type ActionLatency } from "#test/support/action-latency.ts";

const { values } = parseArgs({
  options: { samples: { type: "string", default: "100" }, json: { type: "string" } },
});

/** What design and specification allow: bare status writes from creation to answer. */
const budget = 6;

const { KUBECONFIG } = process.env;
const embedded = KUBECONFIG === undefined ? await TestCluster.start() : undefined;

function clientOf(file: string): Client {
  const { server, credentials } = loadClusterAccess({ file });
  const ports = { clock: systemClock, random: systemRandom, logger: silentLogger };
  return createClient(httpTransport({ server, credentials, ...ports }));
}

// Over HTTP in both cases: that is what who asks for something has.
const client = clientOf(KUBECONFIG ?? embedded?.cluster.kubeconfig ?? "");
const namespace = `kruntimes-bench-${process.pid}`;
await client.of(namespaces).create({ metadata: { name: namespace } });
const results: ActionLatency[] = [];
try {
  const bench = await new ActionBench({ client, namespace, samples: Number(values.samples) }).start();
  try {
    for (const running of [1, 100, 1000]) {
      await bench.prepare(running);
      results.push(await bench.measure());
    }
  } finally {
    await bench.stop();
  }
} finally {
  await client.of(namespaces).delete({ name: namespace });
  await client.transport.close();
  await embedded?.stop();
}

const ms = (value: number) => value.toFixed(1);
console.log(`on ${KUBECONFIG === undefined ? "the embedded cluster" : "the cluster of KUBECONFIG"}, budget ${budget}`);
console.log("| running | floor ms | p50 ms | p95 ms | p50 / floor |");
console.log("| --- | --- | --- | --- | --- |");
for (const { running, floorMs, p50Ms, p95Ms, ratio } of results) {
  console.log(`| ${running} | ${ms(floorMs)} | ${ms(p50Ms)} | ${ms(p95Ms)} | ${ms(ratio)} |`);
}
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(results, undefined, 2)}\n`);
if (results.some(({ ratio }) => ratio > budget)) process.exitCode = 1;
