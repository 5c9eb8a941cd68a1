import { expect, test } from "vitest";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { WaitingReason } from "#api/reasons.ts";
import { makeView, makeWorkload, makeWorkspace } from "./testing/builders.ts";
import { SmallWorld } from "./testing/small-world.ts";
import { resolveWorkspace } from "./workspace.ts";

const run = makeWorkload("a", { spec: { workspace: { name: "ws" } } });
const bound = { phase: "Bound", runtime: "bash", boundPod: "p", boundPodUID: "uid-p" } as const;
const world = (availability: Parameters<typeof makeView>[2]) =>
  new SmallWorld(makeView("p", { runs: 2 }, availability));

const cases: Record<
  string,
  { workspace: PersistentWorkspace | undefined; world?: SmallWorld; want: WaitingReason | "p" }
> = {
  "W1: no such workspace": { workspace: undefined, want: "WorkspaceNotFound" },
  "W2: of another Runtime": {
    workspace: makeWorkspace("ws", undefined, { runtime: "python" }),
    want: "WorkspaceRuntimeMismatch",
  },
  "W2: bound for another Runtime": {
    workspace: makeWorkspace("ws", { ...bound, runtime: "python" }),
    want: "WorkspaceRuntimeMismatch",
  },
  "W3: Released": { workspace: makeWorkspace("ws", { ...bound, phase: "Released" }), want: "WorkspaceReleased" },
  "W3: being deleted while still Bound": {
    workspace: makeWorkspace("ws", bound, { deleting: true }),
    want: "WorkspaceReleased",
  },
  "W4: Lost": { workspace: makeWorkspace("ws", { ...bound, phase: "Lost" }), want: "WorkspaceLost" },
  "W4: Lost stays Lost while it is being deleted": {
    workspace: makeWorkspace("ws", { ...bound, phase: "Lost" }, { deleting: true }),
    want: "WorkspaceLost",
  },
  "W5: without a status": { workspace: makeWorkspace("ws", undefined), want: "WorkspaceNotBound" },
  "W5: Pending": { workspace: makeWorkspace("ws", { phase: "Pending" }), want: "WorkspaceNotBound" },
  "W6: a namesake of the bound Pod with another UID": {
    workspace: makeWorkspace("ws", { ...bound, boundPodUID: "uid-before" }),
    want: "WorkspacePodMismatch",
  },
  "W6: the bound Pod belongs to nobody any more": {
    workspace: makeWorkspace("ws", bound),
    world: world("foreign"),
    want: "WorkspacePodMismatch",
  },
  "W7: the bound Pod has ended": {
    workspace: makeWorkspace("ws", bound),
    world: world("ended"),
    want: "WorkspacePodNotReady",
  },
  "W7: the bound Pod is being deleted": {
    workspace: makeWorkspace("ws", bound),
    world: world("deleting"),
    want: "WorkspacePodNotReady",
  },
  "W8: the bound Pod is not ready": {
    workspace: makeWorkspace("ws", bound),
    world: world("notReady"),
    want: "WorkspacePodNotReady",
  },
  "W9: ready": { workspace: makeWorkspace("ws", bound), want: "p" },
  "W9: draining": { workspace: makeWorkspace("ws", bound), world: world("draining"), want: "p" },
};

test.each(Object.entries(cases))("%s", (_, { workspace, world: seen = world("available"), want }) => {
  const resolved = resolveWorkspace(run, workspace, (key) => seen.slot(key));
  expect(resolved.kind === "bound" ? resolved.slot.view?.name : resolved.reason).toBe(want);
});
