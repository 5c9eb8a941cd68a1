import type { ApiHandler } from "#kube/memory.ts";
import { noSuchResource } from "#local/apiserver/errors.ts";
import type { Kind } from "#local/apiserver/index.ts";
import {
  aggregatedDiscovery,
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  rootPaths,
} from "#local/discovery/documents.ts";
import { extensionGroups } from "#local/discovery/extensions.ts";
import { type Group, groupsOf } from "#local/discovery/resources.ts";
import type { OpenApi } from "#local/openapi/documents.ts";
import { notAcceptable, parseAccept } from "./accept.ts";
import { type HttpAnswer, type HttpRequest, jsonAnswer, textAnswer } from "./message.ts";

/** Version that the server claims: the one of Kubernetes whose behaviour it follows. */
const version = {
  major: "1",
  minor: "34",
  gitVersion: "v1.34.4+krt.local",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "none",
  compiler: process.release.name,
  platform: `${process.platform}/${process.arch}`,
};

const healthPaths = ["/healthz", "/livez", "/readyz"];

/** `/readyz` and the checks below it (`/readyz/ping`). */
const isHealth = (path: string): boolean => healthPaths.includes(`/${path.split("/")[1] ?? ""}`);

/** Whether a path is served to everybody, as on the real server. */
export const isPublic = (path: string): boolean => path === "/version" || isHealth(path);

/**
 * Health, version, discovery and OpenAPI: everything that is no resource.
 *
 * @param extensions served beside the API server, by the path that they begin with
 */
export function documentRoutes(
  kinds: readonly Kind[],
  openApi: OpenApi,
  extensions: Readonly<Record<string, ApiHandler>>,
): (request: HttpRequest) => Promise<HttpAnswer> {
  const own = groupsOf(kinds);
  let known: Promise<readonly Group[]> | undefined;
  const allGroups = async (): Promise<readonly Group[]> => {
    known ??= extensionGroups(extensions);
    return [...own, ...(await known)];
  };

  return async (request) => {
    const path = request.path.length > 1 ? request.path.replace(/\/+$/, "") : request.path;
    if (isHealth(path)) return textAnswer(200, "ok");
    if (path === "/version") return jsonAnswer(200, version);
    if (path === "/openapi/v3") return jsonAnswer(200, openApi.index());
    if (path.startsWith("/openapi/v3/")) return openApiAnswer(openApi, path.slice("/openapi/v3/".length));
    if (path === "/openapi/v2") throw noSuchResource("OpenAPI v2 is not served here; use /openapi/v3");
    const groups = await allGroups();
    if (path === "/") return jsonAnswer(200, rootPaths(groups, [...healthPaths, "/openapi/v3", "/version"]));
    return discovery(request, path, groups);
  };
}

function openApiAnswer(openApi: OpenApi, key: string): HttpAnswer {
  const document = openApi.document(key);
  if (document === undefined) throw noSuchResource(`there is no OpenAPI document ${key}; /openapi/v3 lists them`);
  // The address names the content, so nobody has to ask for it twice.
  const headers = {
    "content-type": "application/json",
    "cache-control": "public, immutable",
    etag: `"${document.hash}"`,
  };
  return { code: 200, headers, body: document.text };
}

function discovery(request: HttpRequest, path: string, groups: readonly Group[]): HttpAnswer {
  const named = groups.filter(({ name }) => name !== "");
  const core = groups.filter(({ name }) => name === "");
  const [, root, first, second, ...beyond] = path.split("/");
  if ((root !== "api" && root !== "apis") || beyond.length > 0 || (root === "api" && second !== undefined)) {
    throw noSuchResource(`nothing is served at ${request.path}; / lists what is`);
  }
  if (first === undefined) {
    const form = aggregatedForm(request.headers.accept);
    const chosen = root === "api" ? core : named;
    if (form === undefined) return jsonAnswer(200, root === "api" ? apiVersions() : apiGroupList(named));
    const contentType = `application/json;g=apidiscovery.k8s.io;v=${form};as=APIGroupDiscoveryList`;
    return jsonAnswer(200, aggregatedDiscovery(chosen, form), { "content-type": contentType });
  }
  const group = root === "api" ? core[0] : named.find(({ name }) => name === first);
  if (group === undefined) throw noSuchResource(`there is no group ${first}; /apis lists them`);
  const wanted = root === "api" ? first : second;
  if (wanted === undefined) return jsonAnswer(200, apiGroup(group));
  const found = group.versions.find(({ version }) => version === wanted);
  if (found === undefined) throw noSuchResource(`there is no version ${wanted} at ${path}; ${root} lists them`);
  return jsonAnswer(200, apiResourceList(group.name, found));
}

/**
 * Version of the aggregated document that a client prefers, undefined where it wants the older form.
 *
 * @throws StatusError 406
 */
function aggregatedForm(header: string | undefined): string | undefined {
  for (const { type, parameters } of parseAccept(header)) {
    if (type !== "application/json" && type !== "*/*" && type !== "application/*") continue;
    const { as, g, v } = parameters;
    if (as === undefined) return undefined;
    const isKnown = g === "apidiscovery.k8s.io" && (v === "v2" || v === "v2beta1");
    if (as === "APIGroupDiscoveryList" && isKnown) return v;
  }
  throw notAcceptable(["application/json"]);
}
