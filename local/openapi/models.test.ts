import { expect, test } from "vitest";
import { builtinKinds } from "#local/apiserver/kinds/builtin.ts";
import { clientLibraryModels } from "./model-files.ts";
import { createModels, type FieldType, modelOf, parseModel } from "./models.ts";

const models = createModels(clientLibraryModels());

test("every built-in kind has a model with metadata", () => {
  for (const kind of builtinKinds()) {
    const model = models.get(modelOf(kind));
    expect(model?.fields.get("metadata")?.type, kind.kind).toEqual({ form: "model", name: "V1ObjectMeta" });
  }
});

test("every model that one of ours leads to can be read", () => {
  const seen = new Set<string>();
  const visit = (type: FieldType, from: string): void => {
    if (type.form === "array") visit(type.items, from);
    if (type.form === "map") visit(type.values, from);
    if (type.form !== "model" || seen.has(type.name)) return;
    seen.add(type.name);
    const model = models.get(type.name);
    expect(model, `${type.name}, named by ${from}`).toBeDefined();
    for (const field of model?.fields.values() ?? []) visit(field.type, type.name);
  };
  for (const kind of builtinKinds()) visit({ form: "model", name: modelOf(kind) }, kind.kind);
  expect(seen.size).toBeGreaterThan(150);
});

test("fields have their type, their description and say whether they are required", () => {
  const container = models.get("V1Container")?.fields;
  expect(container?.get("name")).toMatchObject({ required: true, type: { form: "string" } });
  expect(container?.get("name")?.description).toContain("Each container in a pod must have a unique name");
  expect(container?.get("command")?.description).toContain("container's environment");
  expect(container?.get("env")?.type).toEqual({ form: "array", items: { form: "model", name: "V1EnvVar" } });
  expect(models.get("V1ObjectMeta")?.fields.get("labels")?.type).toEqual({ form: "map", values: { form: "string" } });
  expect(models.get("V1ServicePort")?.fields.get("targetPort")?.type).toEqual({ form: "int-or-string" });
  expect(models.get("V1NetworkPolicyIngressRule")?.fields.has("from")).toBe(true);
  expect(models.get("V1LeaseSpec")?.fields.get("renewTime")?.type).toEqual({ form: "time" });
});

test("a declaration of another form is refused by name", () => {
  expect(() => parseModel("V1X", "export interface V1X {}")).toThrow("the declaration of V1X cannot be read");
});

test("a model that does not exist is undefined", () => {
  expect(models.get("V1Nothing")).toBeUndefined();
});
