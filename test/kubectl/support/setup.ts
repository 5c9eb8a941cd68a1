import { execFileSync } from "node:child_process";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Path of the kubectl to test with. */
    kubectl: string;
  }
}

/** Finds or builds kubectl; its progress is shown as it goes. */
export default function setup(project: TestProject): void {
  const path = execFileSync("scripts/kubectl/build.sh", { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  project.provide("kubectl", path.trim());
}
