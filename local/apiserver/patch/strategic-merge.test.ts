import { expect, test } from "vitest";
import { mergeNodeOf } from "./merge-keys.ts";
import { strategicMerge } from "./strategic-merge.ts";

const pods = mergeNodeOf({ resource: "pods" });
const merge = (current: unknown, patch: unknown) => strategicMerge(current, patch, pods);

const containers = [
  { name: "a", image: "a:1", env: [{ name: "X", value: "1" }] },
  { name: "b", image: "b:1" },
];
const pod = { spec: { containers } };

const cases: Record<string, { current: object; patch: object; result: object }> = {
  "members are set, objects merged, null removes": {
    current: { metadata: { labels: { a: "1", b: "2" } }, spec: { nodeName: "n" } },
    patch: { metadata: { labels: { b: null, c: "3" } }, spec: { nodeName: "m" } },
    result: { metadata: { labels: { a: "1", c: "3" } }, spec: { nodeName: "m" } },
  },
  "items of a list with a merge key are merged by it, at any depth": {
    current: pod,
    patch: { spec: { containers: [{ name: "a", image: "a:2", env: [{ name: "Y", value: "2" }] }] } },
    result: {
      spec: {
        containers: [
          {
            name: "a",
            image: "a:2",
            env: [
              { name: "X", value: "1" },
              { name: "Y", value: "2" },
            ],
          },
          { name: "b", image: "b:1" },
        ],
      },
    },
  },
  "an item with a new key is added, without nulls and directives": {
    current: pod,
    patch: { spec: { containers: [{ name: "c", image: null, args: ["x"], $retainKeys: ["name"] }] } },
    result: { spec: { containers: [...containers, { name: "c", args: ["x"] }] } },
  },
  "an item is deleted by a directive": {
    current: pod,
    patch: { spec: { containers: [{ $patch: "delete", name: "a" }] } },
    result: { spec: { containers: [{ name: "b", image: "b:1" }] } },
  },
  "deleting an item that is not there changes nothing": {
    current: pod,
    patch: { spec: { containers: [{ $patch: "delete", name: "z" }] } },
    result: pod,
  },
  "a list is replaced by a directive among its items": {
    current: pod,
    patch: { spec: { containers: [{ $patch: "replace" }, { name: "z" }] } },
    result: { spec: { containers: [{ name: "z" }] } },
  },
  "a list without a merge key is replaced whole": {
    current: { spec: { tolerations: [{ key: "a" }, { key: "b" }] } },
    patch: { spec: { tolerations: [{ key: "c" }] } },
    result: { spec: { tolerations: [{ key: "c" }] } },
  },
  "a list of values takes each once": {
    current: { metadata: { finalizers: ["a", "b"] } },
    patch: { metadata: { finalizers: ["b", "c", "c"] } },
    result: { metadata: { finalizers: ["a", "b", "c"] } },
  },
  "values are deleted from a list by a directive": {
    current: { metadata: { finalizers: ["a", "b", "c"] } },
    patch: { metadata: { "$deleteFromPrimitiveList/finalizers": ["b"], finalizers: ["d"] } },
    result: { metadata: { finalizers: ["a", "c", "d"] } },
  },
  "an object is replaced by a directive": {
    current: { spec: { securityContext: { runAsUser: 1, runAsGroup: 2 } } },
    patch: { spec: { securityContext: { $patch: "replace", runAsUser: 3 } } },
    result: { spec: { securityContext: { runAsUser: 3 } } },
  },
  "an object is emptied by a directive": {
    current: { metadata: { labels: { a: "1" } } },
    patch: { metadata: { labels: { $patch: "delete" } } },
    result: { metadata: { labels: {} } },
  },
  "only the named alternatives remain where the patch says so": {
    current: { spec: { volumes: [{ name: "v", emptyDir: {} }] } },
    patch: { spec: { volumes: [{ name: "v", $retainKeys: ["name", "hostPath"], hostPath: { path: "/x" } }] } },
    result: { spec: { volumes: [{ name: "v", hostPath: { path: "/x" } }] } },
  },
  "the order of items is the patch's": {
    current: pod,
    patch: {
      spec: {
        "$setElementOrder/containers": [{ name: "c" }, { name: "b" }, { name: "a" }],
        containers: [{ name: "c", image: "c:1" }],
      },
    },
    result: { spec: { containers: [{ name: "c", image: "c:1" }, containers[1], containers[0]] } },
  },
  "an item that the order does not know keeps its place": {
    current: { spec: { containers: [{ name: "x" }, { name: "a" }, { name: "y" }, { name: "b" }, { name: "z" }] } },
    patch: {
      spec: { "$setElementOrder/containers": [{ name: "a" }, { name: "b" }], containers: [{ name: "b", n: 1 }] },
    },
    result: {
      spec: { containers: [{ name: "x" }, { name: "a" }, { name: "y" }, { name: "b", n: 1 }, { name: "z" }] },
    },
  },
  "an order alone moves items": {
    current: { metadata: { finalizers: ["a", "b"] } },
    patch: { metadata: { "$setElementOrder/finalizers": ["b", "a"] } },
    result: { metadata: { finalizers: ["b", "a"] } },
  },
  "a list that is not there yet is taken from the patch": {
    current: {},
    patch: { spec: { containers: [{ name: "a" }, { $patch: "delete", name: "b" }] } },
    result: { spec: { containers: [{ name: "a" }] } },
  },
};

test.each(Object.entries(cases))("%s", (_sentence, { current, patch, result }) => {
  const before = structuredClone(current);
  expect(merge(current, patch)).toEqual(result);
  expect(current, "the current object is not touched").toEqual(before);
});

test.each(
  Object.entries({
    "a patch that is no object": { patch: [], message: "a strategic merge patch of an object is an object" },
    "an unknown directive": { patch: { spec: { $patch: "drop" } }, message: 'unknown patch type "drop"' },
    "an item without its merge key": {
      patch: { spec: { containers: [{ image: "x" }] } },
      message: 'containers: {"image":"x"} does not contain declared merge key: name',
    },
    "an item that is no object": {
      patch: { spec: { containers: ["a"] } },
      message: "containers: items of this list are objects",
    },
    "an order that is no list": {
      patch: { spec: { "$setElementOrder/containers": "a", containers: [] } },
      message: "$setElementOrder/containers is a list",
    },
    "keys to retain that are no list": {
      patch: { spec: { $retainKeys: "a" } },
      message: "$retainKeys is a list of names",
    },
  }),
)("%s is refused", (_sentence, { patch, message }) => {
  expect(() => merge(pod, patch)).toThrow(message);
});

test("the template of a ReplicaSet is merged like a Pod", () => {
  const node = mergeNodeOf({ resource: "replicasets.apps" });
  const set = { spec: { template: { spec: { containers } } } };
  const patch = { spec: { template: { spec: { containers: [{ name: "b", image: "b:2" }] } } } };
  expect(strategicMerge(set, patch, node)).toEqual({
    spec: { template: { spec: { containers: [containers[0], { name: "b", image: "b:2" }] } } },
  });
});
