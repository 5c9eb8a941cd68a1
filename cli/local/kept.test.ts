import { expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { aRun, aWorkflowRun } from "../testing/objects.ts";
import { keptLines } from "./kept.ts";

const artifact = (name: string): ArtifactRef => ({
  name,
  driver: "Filesystem",
  type: "File",
  location: { filesystem: { path: `runs/u/artifacts/${name}`, volumeClaimName: "store" } },
  sizeBytes: 1,
  digest: `sha256:${"0".repeat(64)}`,
});

test("it tells where artifacts of jobs and of Runs are, and everything else", () => {
  const job = { phase: "Succeeded", artifacts: { "dist.tgz": artifact("dist.tgz") } } as const;
  const view = {
    workflowRuns: [aWorkflowRun("ci-1", { build: job, test: { phase: "Failed" } }, "Failed")],
    runs: [aRun("hello", { phase: "Succeeded", artifactRefs: [artifact("log")] }), aRun("other", undefined)],
    waits: [],
  };
  expect(keptLines("/tmp/krt-1", view)).toEqual([
    "Kept /tmp/krt-1; remove it when you are done with it.",
    "  artifact dist.tgz: /tmp/krt-1/claims/default/store/runs/u/artifacts/dist.tgz",
    "  artifact log: /tmp/krt-1/claims/default/store/runs/u/artifacts/log",
    "  workspaces: /tmp/krt-1/pods/*/workspace/persistent/",
    "  output of Runs: /tmp/krt-1/pods/*/runtimed.log",
    "  log of the cluster: /tmp/krt-1/cluster.log",
  ]);
});

test("without anything that was run there is no artifact", () => {
  expect(keptLines("/tmp/krt-1", undefined)).toHaveLength(4);
});
