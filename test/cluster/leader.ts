/** Who of the replicas works, and how it is killed. */
import { expect } from "vitest";
import { leases } from "#kube/builtin.ts";
import { platformNamespace } from "./platform.ts";
import { adminClient, attempt, until } from "./support.ts";

/** The Pod that holds the Lease now, once there is one. */
export async function leaderOf(component: string): Promise<string> {
  const ref = { name: `kruntimes-${component}`, namespace: platformNamespace };
  const { spec } = await until(adminClient(), leases, ref, (lease) => !!lease.spec?.holderIdentity, 30_000);
  return (spec?.holderIdentity ?? "").split("_")[0] ?? "";
}

/** Kills every process of the program in its container: tini, their parent, cannot be killed from inside. */
const killer = `
  const { readdirSync, readFileSync } = require("fs");
  for (const pid of readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name) && name !== "1" && Number(name) !== process.pid)) {
    let command = "";
    try { command = readFileSync("/proc/" + pid + "/cmdline", "utf8"); } catch {}
    if (command.includes("kruntimes.mjs")) process.kill(Number(pid), "SIGKILL");
  }
`;

/** As a crash: the Lease is not given back, and whoever holds it is known to nobody any more. */
export async function crash(pod: string): Promise<void> {
  const exec = ["exec", "-n", platformNamespace, pod, "--", "/usr/lib/kruntimes/node", "-e", killer];
  const { code } = await attempt("kubectl", exec);
  // The container ends with its program, and takes the killer with it.
  expect([0, 137]).toContain(code);
}
