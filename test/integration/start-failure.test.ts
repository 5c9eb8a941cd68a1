import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger, systemClock, systemRandom } from "#kube/system.ts";
import { type ClusterOptions, startCluster } from "#local/cluster.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp("/tmp/sf-");
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const failures: Record<string, { begin?: () => Promise<unknown>; options?: Partial<ClusterOptions> }> = {
  "the kubeconfig cannot be written": { begin: () => mkdir(join(directory, "kubeconfig")) },
  "the first request of a component fails": {
    options: {
      onExchange: () => {
        throw new Error("no exchange");
      },
    },
  },
};

const servers = () => process.getActiveResourcesInfo().filter((resource) => resource === "TCPServerWrap").length;

test.each(Object.entries(failures))(
  "a cluster that does not start leaves no listener behind and its directory to the next: %s",
  async (_, { begin, options }) => {
    await begin?.();
    const base: ClusterOptions = {
      stateDirectory: directory,
      storage: "sqlite",
      entry: [process.execPath, resolve("bin/kruntimes.mjs")],
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
    };
    const before = servers();
    await expect(startCluster({ ...base, ...options })).rejects.toThrow();
    await expect.poll(servers).toBe(before);
    await rm(join(directory, "kubeconfig"), { recursive: true, force: true });
    const cluster = await startCluster(base);
    expect(servers()).toBeGreaterThan(before);
    await cluster.stop();
  },
);
