import { expect, test } from "vitest";
import { parseAccept, wantedForm } from "./accept.ts";

const table = { kind: "Table", apiVersion: "meta.k8s.io/v1" };

test.each([
  ["nothing", undefined, { format: "json" }],
  ["anything", "*/*", { format: "json" }],
  ["JSON", "application/json", { format: "json" }],
  ["YAML", "application/yaml", { format: "yaml" }],
  ["protobuf before JSON", "application/vnd.kubernetes.protobuf, application/json", { format: "json" }],
  [
    "what kubectl get sends",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
    { format: "json", as: table },
  ],
  [
    "an older table",
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
    { format: "json", as: { ...table, apiVersion: "meta.k8s.io/v1beta1" } },
  ],
  [
    "metadata of a list",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    { format: "json", as: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" } },
  ],
  ["an unknown form before JSON", "application/json;as=Graph;v=v1;g=meta.k8s.io,application/json", { format: "json" }],
  ["the more wanted of two", "application/json;q=0.5, application/yaml;q=0.9", { format: "yaml" }],
])("a client that takes %s is served", (_sentence, header, expected) => {
  expect(wantedForm(header)).toEqual(expected);
});

test.each([
  "application/vnd.kubernetes.protobuf",
  "text/html",
  "application/json;as=Graph;v=v1;g=meta.k8s.io",
  "application/json;q=0",
])("a client that takes only %s is told what there is", (header) => {
  expect(() => wantedForm(header)).toThrow(
    expect.objectContaining({ code: 406, message: expect.stringContaining("application/json, application/yaml") }),
  );
});

test("parameters are read without their quotes, and weights order the types", () => {
  expect(parseAccept('a/b;v="1", c/d;q=2')).toEqual([
    { type: "c/d", parameters: {}, weight: 2 },
    { type: "a/b", parameters: { v: "1" }, weight: 1 },
  ]);
});
