import { execFileSync } from "node:child_process";
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
export default function setup(project: TestProject): void {
  project.provide("kubeconfig", script("up.sh"));
  project.provide("programs", script("build.sh", "kubectl", "helm"));
  script("build-images.sh");
  project.provide("imagePrefix", process.env.KRUNTIMES_TEST_IMAGES ?? "localhost");
}

/** Runs a script of this folder; progress and errors go to the terminal, the answer is its output. */
export function script(name: string, ...args: string[]): string {
  const path = fileURLToPath(new URL(name, import.meta.url));
  return execFileSync(path, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
}
