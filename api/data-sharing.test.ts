/** What the kinds do not have, and say of themselves: rules of data sharing about the shape of the API. */
import { expect, test } from "vitest";
import { type Kind, kinds } from "./crd/kinds.ts";
import { type Structural, structural } from "./crd/structural.ts";

/** Names of all fields below a node, at any depth. */
function fieldsOf(node: Structural): string[] {
  const members = Object.entries(node.properties ?? {});
  const below = [node.items, node.additionalProperties, ...members.map(([, member]) => member)];
  return [...members.map(([name]) => name), ...below.flatMap((each) => (each === undefined ? [] : fieldsOf(each)))];
}

const fieldsOfKind = (kind: Kind): string[] => {
  const { spec, status } = kinds[kind];
  return [spec, status].flatMap((part) => (part === undefined ? [] : fieldsOf(structural(part))));
};

test("neither Runs nor workspaces have a field for a workflow, a job or a step", () => {
  for (const kind of ["Run", "PersistentWorkspace"] as const) {
    const fields = fieldsOfKind(kind);
    expect(fields.length).toBeGreaterThan(10);
    expect(fields.filter((field) => /workflow|job|step/i.test(field))).toEqual([]);
  }
});

test("workflows have no controls of the workspaces of their jobs, and no binding details in their status", () => {
  for (const kind of ["Workflow", "Action", "WorkflowRun"] as const) {
    const fields = fieldsOfKind(kind);
    expect(fields.length).toBeGreaterThan(10);
    expect(fields.filter((field) => /workspace|volume|cleanup|boundPod|unused/i.test(field))).toEqual(
      kind === "WorkflowRun" ? ["volumeClaimName"] : [],
    );
  }
});

test("a workspace selects no volume: it names a Runtime, a mode and how long it stays", () => {
  const { spec } = kinds.PersistentWorkspace;
  const { properties = {} } = structural(spec);
  expect(Object.keys(properties).sort()).toEqual(["cleanupPolicy", "mode", "runtime", "ttlSecondsAfterUnused"]);
});

test("references to a workspace have no namespace", () => {
  const { workspace } = structural(kinds.Run.spec).properties ?? {};
  expect(Object.keys(workspace?.properties ?? {}).sort()).toEqual(["apiGroup", "kind", "name"]);
});
