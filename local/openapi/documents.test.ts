import { expect, test } from "vitest";
import { seededRandom } from "#kube/seeded-random.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { createApiServer } from "#local/apiserver/index.ts";
import { getPath, isObject } from "#local/apiserver/json.ts";
import { platformCrds } from "#local/crds.ts";
import { createOpenApi } from "./documents.ts";
import { clientLibraryModels } from "./model-files.ts";
import { createModels } from "./models.ts";

const server = createApiServer({ crds: platformCrds(), clock: new VirtualClock(), random: seededRandom(1) });
const openApi = createOpenApi(server.registry.all(), createModels(clientLibraryModels()));

const read = (key: string): unknown => JSON.parse(openApi.document(key)?.text ?? "null");
const schemaOf = (document: unknown, name: string) => getPath(document, ["components", "schemas", name]);

test("every group and version has a document whose address changes with its content", () => {
  const index = openApi.index() as { paths: Record<string, { serverRelativeURL: string }> };
  expect(Object.keys(index.paths)).toContain("api/v1");
  for (const kind of server.registry.all()) {
    const key = kind.group === "" ? `api/${kind.version}` : `apis/${kind.group}/${kind.version}`;
    expect(index.paths[key]?.serverRelativeURL).toBe(`/openapi/v3/${key}?hash=${openApi.document(key)?.hash}`);
  }
  expect(openApi.document("apis/nothing/v1")).toBeUndefined();
});

test("every reference of a document leads to one of its schemas", () => {
  for (const key of Object.keys((openApi.index() as { paths: object }).paths)) {
    const document = read(key);
    const visit = (value: unknown): void => {
      if (Array.isArray(value)) value.forEach(visit);
      if (!isObject(value)) return;
      if (typeof value.$ref === "string") {
        expect(
          schemaOf(document, value.$ref.replace("#/components/schemas/", "")),
          `${key} ${value.$ref}`,
        ).toBeDefined();
      }
      Object.values(value).forEach(visit);
    };
    visit(document);
  }
});

test("a custom kind has the schema of its definition, with the common metadata", () => {
  const run = schemaOf(read("apis/kruntimes.io/v1alpha1"), "io.kruntimes.v1alpha1.Run");
  expect(run).toMatchObject({
    "x-kubernetes-group-version-kind": [{ group: "kruntimes.io", version: "v1alpha1", kind: "Run" }],
    properties: { metadata: { allOf: [{ $ref: "#/components/schemas/io.k8s.api.v1.ObjectMeta" }] } },
  });
  expect(getPath(run, ["properties", "spec", "properties", "workspace", "description"])).toMatch(/\w/);
});

test("lists of built-in kinds say how they are merged", () => {
  const document = read("api/v1");
  const spec = schemaOf(document, "io.k8s.api.v1.PodSpec");
  expect(getPath(spec, ["properties", "containers"])).toMatchObject({
    "x-kubernetes-patch-strategy": "merge",
    "x-kubernetes-patch-merge-key": "name",
  });
  expect(getPath(spec, ["properties", "volumes"])).toMatchObject({ "x-kubernetes-patch-strategy": "merge,retainKeys" });
  const container = schemaOf(document, "io.k8s.api.v1.Container");
  expect(getPath(container, ["properties", "env"])).toMatchObject({ "x-kubernetes-patch-merge-key": "name" });
  const template = schemaOf(read("apis/apps/v1"), "io.k8s.api.v1.PodSpec");
  expect(getPath(template, ["properties", "containers"])).toMatchObject({ "x-kubernetes-patch-merge-key": "name" });
  const meta = schemaOf(document, "io.k8s.api.v1.ObjectMeta");
  expect(getPath(meta, ["properties", "finalizers"])).toMatchObject({ "x-kubernetes-patch-strategy": "merge" });
});

test("the operation that patches says which patches and parameters it takes", () => {
  const path = (plural: string) => `/apis/kruntimes.io/v1alpha1/namespaces/{namespace}/${plural}/{name}`;
  const patch = getPath(read("apis/kruntimes.io/v1alpha1"), ["paths", path("runs"), "patch"]);
  expect(Object.keys(getPath(patch, ["requestBody", "content"]) as object)).toEqual([
    "application/json-patch+json",
    "application/merge-patch+json",
  ]);
  expect(getPath(patch, ["parameters"])).toMatchObject([{ name: "dryRun" }, { name: "fieldValidation" }]);
  const builtin = getPath(read("api/v1"), ["paths", "/api/v1/namespaces/{name}", "patch", "requestBody", "content"]);
  expect(Object.keys(builtin as object)).toContain("application/strategic-merge-patch+json");
});

test("questions about access can only be created", () => {
  const paths = getPath(read("apis/authorization.k8s.io/v1"), ["paths"]) as Record<string, object>;
  expect(Object.keys(paths["/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"] ?? {})).toEqual([
    "post",
    "parameters",
  ]);
});
