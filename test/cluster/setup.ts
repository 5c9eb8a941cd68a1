import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Path of the kubeconfig of the cluster. */
    kubeconfig: string;
    /** Folder with kubectl and helm. */
    programs: string;
    /** What stands before the names of images, without the last slash. */
    imagePrefix: string;
  }
}

/** Brings up the cluster and the images unless they are there. Both stay for the next time; `npm run cluster:down` ends the cluster. */
export default async function setup(project: TestProject): Promise<() => void> {
  const release = await claimCluster();
  try {
    project.provide("kubeconfig", script("up.sh"));
    project.provide("programs", script("build.sh", "kubectl", "helm"));
    script("build-images.sh");
    project.provide("imagePrefix", process.env.KRUNTIMES_TEST_IMAGES ?? "localhost");
  } catch (error) {
    release();
    throw error;
  }
  return release;
}

/** Waits until no other checkout tests on the cluster of this machine, or changes its images. Answers what gives it back. */
async function claimCluster(): Promise<() => void> {
  const holder = spawn(fileURLToPath(new URL("hold.sh", import.meta.url)), { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(holder, "exit").then(() => {
    throw new Error("the cluster of this machine cannot be claimed; the reason is above");
  });
  await Promise.race([once(holder.stdout, "data"), ended]);
  ended.catch(() => {});
  return () => holder.stdin.end();
}

/** Runs a script of this folder; progress and errors go to the terminal, the answer is its output. */
export function script(name: string, ...args: string[]): string {
  const path = fileURLToPath(new URL(name, import.meta.url));
  const env = { ...process.env, KRUNTIMES_CLUSTER_IS_HELD: "yes" };
  return execFileSync(path, args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "inherit"] }).trim();
}
