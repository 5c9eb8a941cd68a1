import assert from "node:assert/strict";
import fc from "fast-check";
import { isDeeper } from "#api/json.ts";
import { deepFreeze, mergePatch } from "#kube/json.ts";
import {
  applyJsonPatch,
  PatchApplyError,
  PatchSyntaxError,
  parseJsonPatch,
} from "#local/apiserver/patch/json-patch.ts";
import { mergeNodeOf } from "#local/apiserver/patch/merge-keys.ts";
import { strategicMerge } from "#local/apiserver/patch/strategic-merge.ts";
import { mutatedJson } from "../mutate-json.ts";
import { defineTarget } from "../target.ts";

/** The three ways to patch an object. */
export interface Patches {
  json(current: unknown, patch: unknown): unknown;
  merge(current: unknown, patch: unknown): unknown;
  strategic(current: unknown, patch: unknown): unknown;
}

export const realPatches: Patches = {
  json: (current, patch) => applyJsonPatch(current, parseJsonPatch(patch)),
  merge: mergePatch,
  strategic: (current, patch) => strategicMerge(current, patch, mergeNodeOf({ resource: "pods" })),
};

const pod = {
  metadata: { name: "p", labels: { a: "1" }, finalizers: ["x", "y"], ownerReferences: [{ uid: "u", name: "o" }] },
  spec: {
    containers: [
      { name: "c", image: "i", env: [{ name: "A", value: "1" }], ports: [{ containerPort: 80 }] },
      { name: "d", image: "j", volumeMounts: [{ mountPath: "/a", name: "v" }] },
    ],
    volumes: [{ name: "v", emptyDir: {} }],
    tolerations: [{ key: "k" }],
  },
  status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
};
const operations = [
  [
    { op: "add", path: "/metadata/labels/b~1c", value: "2" },
    { op: "remove", path: "/spec/containers/0/env" },
  ],
  [
    { op: "test", path: "/status/phase", value: "Running" },
    { op: "replace", path: "/spec/tolerations/0", value: {} },
  ],
  [
    { op: "move", from: "/spec/containers/0", path: "/spec/containers/-" },
    { op: "copy", from: "/spec", path: "/x" },
  ],
  [
    { op: "add", path: "/spec/volumes/0", value: null },
    { op: "move", from: "/metadata", path: "/metadata/a" },
  ],
];
const merges = [
  {
    metadata: { labels: { a: null, b: "2" }, finalizers: ["z", "x"] },
    spec: { containers: [{ name: "c", image: "k" }] },
  },
  {
    spec: {
      containers: [{ name: "d", $patch: "delete" }],
      volumes: [{ name: "v", $retainKeys: ["name"], emptyDir: null }],
    },
  },
  { metadata: { "$deleteFromPrimitiveList/finalizers": ["x"] }, status: { $patch: "replace", phase: "Failed" } },
  {
    spec: {
      "$setElementOrder/containers": [{ name: "d" }, { name: "c" }],
      containers: [{ name: "e", env: [{ name: "B" }] }],
    },
  },
];

export const patches = (patched: Patches = realPatches) =>
  defineTarget({
    name: "patches",
    holds:
      "any patch gives an object or is refused, changes nothing in place, and a merge that is applied again changes nothing more",
    outcomes: ["json", "merge", "strategic", "refused"],
    inputs: fc.oneof(
      ...(["json", "merge", "strategic"] as const).map((kind) =>
        fc.record({
          kind: fc.constant(kind),
          current: mutatedJson([pod]),
          patch: mutatedJson(kind === "json" ? operations : merges),
        }),
      ),
    ),
    check({ kind, current, patch }) {
      // The server copies what it is sent, and refuses what is nested deeper.
      if (isDeeper(current, 512) || isDeeper(patch, 512)) return "refused";
      deepFreeze(current);
      deepFreeze(patch);
      const apply = () => patched[kind](current, patch);
      const once = orRefused(apply);
      if (once === undefined) return "refused";
      assert.deepEqual(orRefused(apply), once, "it does the same again");
      if (kind === "json") return kind;
      const merged = deepFreeze(once.value);
      if (kind === "merge") assert.deepEqual(patched.merge(merged, patch), merged, "a second time changes nothing");
      assert(!JSON.stringify(kind === "strategic" ? merged : "").includes('"$patch":"'), "directives stay out");
      return kind;
    },
  });

function orRefused(apply: () => unknown): { readonly value: unknown } | undefined {
  try {
    return { value: apply() };
  } catch (error) {
    if ((error instanceof PatchApplyError || error instanceof PatchSyntaxError) && error.message !== "")
      return undefined;
    throw error;
  }
}
