import { expect, test } from "vitest";
import type { Pod } from "#kube/builtin.ts";
import { deletionCostAnnotation, inDeletionOrder } from "./rank.ts";

interface Traits {
  readonly node?: string | undefined;
  readonly phase?: "Pending" | "Unknown" | "Running";
  readonly ready?: boolean;
  readonly since?: string;
  readonly cost?: string;
  readonly restarts?: number;
  readonly created?: string;
}

function pod(name: string, traits: Traits = {}): Pod {
  const {
    phase = "Running",
    ready = true,
    since = "2026-01-01T00:00:00Z",
    cost,
    restarts = 0,
    created = "2026-01-01T00:00:00Z",
  } = traits;
  const node = "node" in traits ? traits.node : "n1";
  return {
    metadata: {
      name,
      namespace: "default",
      creationTimestamp: created,
      ...(cost === undefined ? {} : { annotations: { [deletionCostAnnotation]: cost } }),
    },
    spec: { containers: [], ...(node === undefined ? {} : { nodeName: node }) },
    status: {
      phase,
      conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: since }],
      containerStatuses: [{ name: "c", ready, restartCount: restarts }],
    },
  };
}

const cases: Record<string, [first: Traits, last: Traits]> = {
  "without a node before those on one": [{ node: undefined }, {}],
  "pending before running": [{ phase: "Pending" }, {}],
  "of unknown phase before running": [{ phase: "Unknown" }, {}],
  "not ready before ready": [{ ready: false }, {}],
  "cheaper before dearer": [{ cost: "-5" }, {}],
  "no cost counts as zero": [{}, { cost: "1" }],
  "a cost that is no number counts as zero": [{ cost: "x" }, { cost: "1" }],
  "ready for a shorter time first": [{ since: "2026-01-01T00:01:00Z" }, {}],
  "more restarts first": [{ restarts: 3 }, { restarts: 1 }],
  "newer before older": [{ created: "2026-01-02T00:00:00Z" }, {}],
  "readiness counts more than cost": [{ ready: false, cost: "100" }, { cost: "-100" }],
  "cost counts more than age": [{ cost: "0", created: "2025-01-01T00:00:00Z" }, { cost: "1" }],
};

test.each(Object.entries(cases))("%s", (_, [first, last]) => {
  // Names speak for the opposite order, and both orders of input must agree.
  const pods = [pod("z", first), pod("a", last)];
  expect(inDeletionOrder(pods).map(({ metadata }) => metadata.name)).toEqual(["z", "a"]);
  expect(inDeletionOrder(pods.reverse()).map(({ metadata }) => metadata.name)).toEqual(["z", "a"]);
});

test("from a crowded node before a lonely one", () => {
  const pods = [pod("a", { node: "lonely" }), pod("b", { node: "full" }), pod("c", { node: "full" })];
  expect(inDeletionOrder(pods).map(({ metadata }) => metadata.name)).toEqual(["b", "c", "a"]);
});
