/** A machine that cannot be a node says so at once, with everything that it lacks: nothing is built, started or waited for. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const up = join(import.meta.dirname, "up.sh");

/** `cluster:up` of a root with fewer rights. */
function start(...restriction: string[]) {
  const begun = performance.now();
  const env = { ...process.env, KUBECONFIG: "" };
  const { status, stderr } = spawnSync("setpriv", [...restriction, up], { encoding: "utf8", env, timeout: 60_000 });
  return { status, stderr, ms: performance.now() - begun };
}

const machines: Record<string, { restriction: string[]; says: string[] }> = {
  "root that may not mount": {
    restriction: ["--bounding-set=-sys_admin", "--inh-caps=-all"],
    says: ["A cluster of one node cannot run on this machine:", "namespaces cannot be made", "overlay file systems"],
  },
  "root that may not change the network": {
    restriction: ["--bounding-set=-net_admin", "--inh-caps=-all"],
    says: ["bridges cannot be made", "iptables cannot add rules"],
  },
};

test.each(Object.entries(machines))("%s", (_, { restriction, says }) => {
  const { status, stderr, ms } = start(...restriction);
  expect(status).toBe(1);
  for (const text of says) expect(stderr).toContain(text);
  expect(ms).toBeLessThan(20_000);
});
