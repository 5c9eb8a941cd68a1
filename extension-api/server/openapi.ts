import { logsGroup, logsRoot, logsVersion } from "../logs/discovery.ts";
import { defaultTailLines, maxTailLines } from "../logs/query.ts";
import { streamType } from "../logs/route.ts";

const path = `${logsRoot}/${logsVersion}/namespaces/{namespace}/runs/{name}/log`;
const operationId = "readLogsKruntimesIoV1alpha1NamespacedRunLog";
const kind = { group: logsGroup, version: logsVersion, kind: "RunLog" };
const summary = "The log of a Run: what its program printed, and nothing of other Runs.";

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly type: "string" | "integer" | "boolean";
  readonly description: string;
}

const parameters: readonly Parameter[] = [
  { name: "namespace", in: "path", type: "string", description: "namespace of the Run" },
  { name: "name", in: "path", type: "string", description: "name of the Run" },
  { name: "follow", in: "query", type: "boolean", description: "go on until the Run has ended, one record a line" },
  {
    name: "tailLines",
    in: "query",
    type: "integer",
    description: `how many of the newest records; default ${defaultTailLines}, at most ${maxTailLines}`,
  },
  {
    name: "cursor",
    in: "query",
    type: "string",
    description: "only what comes after the record that the cursor came with",
  },
  { name: "attempt", in: "query", type: "integer", description: "only this attempt, from 1" },
  { name: "sinceTime", in: "query", type: "string", description: "only records of this time (RFC 3339) and later" },
];

const codes: Readonly<Record<number, string>> = {
  200: "OK",
  400: "a parameter is wrong",
  401: "Unauthorized",
  404: "there is no such Run",
  409: "the Pod of the Run is gone, and its log with it",
  410: "the cursor is older than the log",
  429: "too many requests at a time",
  503: "the log cannot be read now",
};

const record = "io.kruntimes.logs.v1alpha1.RunLogRecord";
const log = "io.kruntimes.logs.v1alpha1.RunLog";

const text = (description: string) => ({ type: "string", description });

/** Schemas by their names; references begin with `prefix`. */
const schemas = (prefix: string) => ({
  [record]: {
    type: "object",
    description: "One record of the log of a Run.",
    required: ["attempt", "time", "stream", "message"],
    properties: {
      attempt: { type: "integer", format: "int64", description: "attempt of the Run, from 1" },
      seq: { type: "integer", format: "int64", description: "position in the attempt, from 1" },
      time: { ...text("when the output was written"), format: "date-time" },
      stream: text("stdout, stderr, or system for words of the platform"),
      message: text("the line without its newline"),
      partial: { type: "boolean", description: "the line goes on in the next record of its stream" },
      encoding: text("base64 when the bytes are no UTF-8"),
      cursor: text("opaque; passed back, it continues after this record"),
    },
  },
  [log]: {
    type: "object",
    description: summary,
    required: ["items", "cursor"],
    properties: {
      items: { type: "array", description: "the records", items: { $ref: `${prefix}${record}` } },
      cursor: text("opaque; passed back, it continues after the last record"),
    },
    "x-kubernetes-group-version-kind": [kind],
  },
});

const info = { title: "kruntimes", version: logsVersion };
const operation = { operationId, description: summary, tags: ["logsKruntimesIo_v1alpha1"] };
const extensions = { "x-kubernetes-action": "get", "x-kubernetes-group-version-kind": kind };

/** `GET /openapi/v2` */
export const openApiV2 = {
  swagger: "2.0",
  info,
  paths: {
    [path]: {
      get: {
        ...operation,
        produces: ["application/json", streamType],
        schemes: ["https"],
        parameters: parameters.map((one) => ({
          ...one,
          uniqueItems: true,
          ...(one.in === "path" && { required: true }),
        })),
        responses: Object.fromEntries(
          Object.entries(codes).map(([code, description]) => [
            code,
            { description, ...(code === "200" && { schema: { $ref: `#/definitions/${log}` } }) },
          ]),
        ),
        ...extensions,
      },
    },
  },
  definitions: schemas("#/definitions/"),
};

/** Path of the only document of {@link openApiV3Index}. */
export const openApiV3Path = `/openapi/v3${logsRoot}/${logsVersion}`;

export const openApiV3 = {
  openapi: "3.0.0",
  info,
  paths: {
    [path]: {
      get: {
        ...operation,
        parameters: parameters.map(({ name, in: place, type, description }) => ({
          name,
          in: place,
          description,
          ...(place === "path" && { required: true }),
          schema: { type },
        })),
        responses: Object.fromEntries(
          Object.entries(codes).map(([code, description]) => [
            code,
            {
              description,
              ...(code === "200" && {
                content: {
                  "application/json": { schema: { $ref: `#/components/schemas/${log}` } },
                  [streamType]: { schema: { $ref: `#/components/schemas/${record}` } },
                },
              }),
            },
          ]),
        ),
        ...extensions,
      },
    },
  },
  components: { schemas: schemas("#/components/schemas/") },
};

/** `GET /openapi/v3` @param hash changes with the document */
export const openApiV3Index = (hash: string) => ({
  paths: { [`${logsRoot}/${logsVersion}`.slice(1)]: { serverRelativeURL: `${openApiV3Path}?hash=${hash}` } },
});
