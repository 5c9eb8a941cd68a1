import { expect, test } from "vitest";
import { StatusError } from "#kube/transport.ts";
import { parseRoute, type Route, verbOf } from "./routes.ts";

const cases: Record<string, { path: string; want: Partial<Route> | undefined }> = {
  "a collection of the core group": { path: "/api/v1/pods", want: { group: "", version: "v1", plural: "pods" } },
  "a collection in a namespace": {
    path: "/api/v1/namespaces/a/pods",
    want: { namespace: "a", plural: "pods", name: undefined },
  },
  "an object of a group": {
    path: "/apis/example.com/v1/namespaces/a/widgets/w",
    want: { group: "example.com", version: "v1", namespace: "a", plural: "widgets", name: "w" },
  },
  "a subresource": {
    path: "/apis/example.com/v1/namespaces/a/widgets/w/status",
    want: { name: "w", subresource: "status" },
  },
  "a namespace is an object itself": {
    path: "/api/v1/namespaces/a",
    want: { namespace: undefined, plural: "namespaces", name: "a" },
  },
  "status of a namespace is no resource inside it": {
    path: "/api/v1/namespaces/a/status",
    want: { plural: "namespaces", name: "a", subresource: "status" },
  },
  "finalize of a namespace is no resource inside it": {
    path: "/api/v1/namespaces/a/finalize",
    want: { plural: "namespaces", name: "a", subresource: "finalize" },
  },
  "escaped characters in a name": {
    path: "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings/system%3Aadmin",
    want: { name: "system:admin" },
  },
  "a trailing slash changes nothing": { path: "/api/v1/pods/", want: { plural: "pods", name: undefined } },
  "the root is no resource": { path: "/", want: undefined },
  "a group is no resource": { path: "/apis/example.com/v1", want: undefined },
  "another tree is no resource": { path: "/healthz", want: undefined },
  "a path that is too long is no resource": { path: "/api/v1/namespaces/a/pods/p/status/x", want: undefined },
};

test.each(Object.entries(cases))("%s", (_, { path, want }) => {
  const route = parseRoute(path);
  if (want === undefined) expect(route).toBeUndefined();
  else expect(route).toMatchObject(want);
});

test("a broken escape is a bad request", () => {
  expect(() => parseRoute("/api/v1/pods/%zz")).toThrow(StatusError);
});

const object = "/api/v1/namespaces/a/pods/p";
const collection = "/api/v1/namespaces/a/pods";
const verbs: Record<string, { method: string; path: string; watch?: boolean; want: string | undefined }> = {
  "GET of an object": { method: "GET", path: object, want: "get" },
  "GET of a collection": { method: "GET", path: collection, want: "list" },
  "GET with watch": { method: "GET", path: collection, watch: true, want: "watch" },
  "POST to a collection": { method: "POST", path: collection, want: "create" },
  "POST to an object": { method: "POST", path: object, want: undefined },
  "POST to a subresource": { method: "POST", path: `${object}/binding`, want: "create" },
  "PUT of an object": { method: "PUT", path: object, want: "update" },
  "PUT of a collection": { method: "PUT", path: collection, want: undefined },
  "PATCH of an object": { method: "PATCH", path: object, want: "patch" },
  "PATCH of a collection": { method: "PATCH", path: collection, want: undefined },
  "DELETE of an object": { method: "DELETE", path: object, want: "delete" },
  "DELETE of a collection": { method: "DELETE", path: collection, want: "deletecollection" },
  "an unknown method": { method: "BREW", path: object, want: undefined },
};

test.each(Object.entries(verbs))("verb of %s", (_, { method, path, watch = false, want }) => {
  const route = parseRoute(path);
  if (route === undefined) throw new Error("no route");
  expect(verbOf(method, route, watch)).toBe(want);
});
