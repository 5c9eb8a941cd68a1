import { expect, test } from "vitest";
import { missingProof } from "./ownership.ts";
import { type Child, childMeta, owner, run, workspace } from "./testing/objects.ts";

interface Case {
  readonly run?: Child;
  readonly workspace?: Child;
  readonly live?: typeof owner | undefined;
  readonly want: string | undefined;
}

const cases: Record<string, Case> = {
  "Run and workspace of one job of a live WorkflowRun": { want: undefined },
  "W1: the Run is owned, but not controlled": { run: { isController: false }, want: "the Run has no WorkflowRun" },
  "W1: the Run's controller is another kind": { run: { ownerKind: "Workflow" }, want: "the Run has no WorkflowRun" },
  "W1: the Run's controller is of another group": {
    run: { ownerApiVersion: "example.com/v1" },
    want: "the Run has no WorkflowRun",
  },
  "W1: the Run's controller has no UID": { run: { ownerUid: "" }, want: "the Run has no WorkflowRun" },
  "W2: the workspace is owned, but not controlled": {
    workspace: { isController: false },
    want: "the workspace has no WorkflowRun",
  },
  "W2: the workspace's controller is another kind": {
    workspace: { ownerKind: "Job", ownerApiVersion: "batch/v1" },
    want: "the workspace has no WorkflowRun",
  },
  "W3: another WorkflowRun's workspace": { workspace: { ownerUid: "x-uid" }, want: "different WorkflowRuns" },
  "W3: one UID under two names": { workspace: { ownerName: "x" }, want: "different WorkflowRuns" },
  "W4: there is no such WorkflowRun": { live: undefined, want: "there is no WorkflowRun w with UID w-uid" },
  "W4: a namesake of the WorkflowRun that both name": {
    live: { ...owner, metadata: { ...owner.metadata, uid: "new" } },
    want: "there is no WorkflowRun w with UID w-uid",
  },
  "W4: the WorkflowRun is being deleted": {
    live: { ...owner, metadata: { ...owner.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } },
    want: "is being deleted",
  },
  "W5: the Run's label is missing": { run: { uidLabel: undefined }, want: "of the Run is not the UID" },
  "W5: the Run's label is another UID": { run: { uidLabel: "x-uid" }, want: "of the Run is not the UID" },
  "W5: the workspace's label is missing": {
    workspace: { uidLabel: undefined },
    want: "of the workspace is not the UID",
  },
  "W5: the workspace's label is another UID": { workspace: { uidLabel: "x" }, want: "of the workspace is not the UID" },
  "W6: the workspace of another job": { workspace: { job: "deploy" }, want: "is not that of one job" },
  "W6: neither names its job": {
    run: { job: undefined },
    workspace: { job: undefined },
    want: "is not that of one job",
  },
  "W6: only the workspace names its job": { run: { job: undefined }, want: "is not that of one job" },
};

test.each(Object.entries(cases))("%s", (_, given) => {
  const live = "live" in given ? given.live : owner;
  const missing = missingProof(run(childMeta("r", given.run)), workspace(childMeta("shared", given.workspace)), live);
  if (given.want === undefined) expect(missing).toBeUndefined();
  else expect(missing).toContain(given.want);
});

test("two controllers are none", () => {
  const metadata = childMeta("r");
  const twice = {
    ...metadata,
    ownerReferences: [...(metadata.ownerReferences ?? []), ...(metadata.ownerReferences ?? [])],
  };
  expect(missingProof(run(twice), workspace(childMeta("shared")), owner)).toContain("the Run has no WorkflowRun");
});
