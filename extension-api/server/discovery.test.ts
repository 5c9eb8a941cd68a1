import { expect, test } from "vitest";
import { logsDiscovery } from "../logs/discovery.ts";
import { aggregatedDiscovery, aggregatedForm, aggregatedType } from "./discovery.ts";
import { openApiV2, openApiV3 } from "./openapi.ts";

const asked = (form: string) => `application/json;g=apidiscovery.k8s.io;v=${form};as=APIGroupDiscoveryList`;

const forms: Record<string, { accept: string | undefined; want: string | undefined }> = {
  "nothing: the old form": { accept: undefined, want: undefined },
  "plain JSON: the old form": { accept: "application/json", want: undefined },
  "v2, as API servers from 1.30 ask": { accept: `${asked("v2")},${asked("v2beta1")},application/json`, want: "v2" },
  "v2beta1, as older ones ask": { accept: `${asked("v2beta1")},application/json`, want: "v2beta1" },
  "a version that is still to come": { accept: `${asked("v9")},application/json`, want: undefined },
  "another group": { accept: "application/json;g=other.k8s.io;v=v2;as=APIGroupDiscoveryList", want: undefined },
};

test.each(Object.entries(forms))("discovery is asked for as %s", (_, { accept, want }) => {
  expect(aggregatedForm(accept)).toBe(want);
  if (want === "v2" || want === "v2beta1") expect(aggregatedForm(aggregatedType(want))).toBe(want);
});

test("both forms of discovery say the same: runs without verbs, so that nobody lists them here, and get on its log", () => {
  const list = logsDiscovery["/apis/logs.kruntimes.io/v1alpha1"];
  expect(list).toMatchObject({
    kind: "APIResourceList",
    resources: [
      { name: "runs", namespaced: true, verbs: [] },
      { name: "runs/log", namespaced: true, verbs: ["get"] },
    ],
  });
  expect(aggregatedDiscovery("v2")).toMatchObject({
    apiVersion: "apidiscovery.k8s.io/v2",
    items: [
      {
        metadata: { name: "logs.kruntimes.io" },
        versions: [
          {
            version: "v1alpha1",
            resources: [{ resource: "runs", verbs: [], subresources: [{ subresource: "log", verbs: ["get"] }] }],
          },
        ],
      },
    ],
  });
});

test("every reference in the OpenAPI documents leads somewhere", () => {
  const references = (document: object) => [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)];
  for (const document of [openApiV2, openApiV3]) {
    expect(references(document).length).toBeGreaterThan(1);
    for (const [, path = ""] of references(document)) {
      const found = path.split("/").reduce<unknown>((at, part) => (at as Record<string, unknown>)?.[part], document);
      expect(found, path).toBeDefined();
    }
  }
});
