/**
 * A local cluster in a process of its own, for tests that kill or measure it: `node local-server.ts DIRECTORY`. Its parent is
 * told when it serves, and what it has used when it asks.
 */
import { resolve } from "node:path";
import { silentLogger, systemClock, systemRandom } from "#kube/system.ts";
import { startCluster } from "#local/cluster.ts";

const cluster = await startCluster({
  stateDirectory: process.argv[2] ?? "",
  storage: "sqlite",
  entry: [process.execPath, resolve("bin/kruntimes.mjs")],
  clock: systemClock,
  random: systemRandom,
  logger: silentLogger,
});

const usage = () => {
  const { user, system } = process.cpuUsage();
  return { cpuMs: (user + system) / 1000, rssBytes: process.memoryUsage.rss() };
};

process.on("message", (message) => {
  if (message === "usage") process.send?.({ usage: usage() });
  if (message === "stop") void cluster.stop().then(() => process.exit(0));
});
process.on("disconnect", () => process.exit(1));
process.send?.({ ready: true, kubeconfig: cluster.kubeconfig, usage: usage() });
