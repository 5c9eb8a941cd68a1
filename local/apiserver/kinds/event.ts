import { type FieldError, invalid, required } from "../field-errors.ts";
import { getPath, type JsonObject } from "../json.ts";
import type { Draft, StoredObject } from "../types.ts";
import { type BuiltinKind, defineKind } from "./define.ts";
import { encodeOnce } from "./encode-once.ts";

/**
 * Events, stored once in the form of core/v1 and served as `v1` and `events.k8s.io/v1`. Only names differ: what one
 * version calls `regarding` and `note` is `involvedObject` and `message` in the other.
 */

/** events.k8s.io name, core name. */
const renamed: readonly (readonly [string, string])[] = [
  ["regarding", "involvedObject"],
  ["note", "message"],
  ["reportingController", "reportingComponent"],
  ["deprecatedSource", "source"],
  ["deprecatedFirstTimestamp", "firstTimestamp"],
  ["deprecatedLastTimestamp", "lastTimestamp"],
  ["deprecatedCount", "count"],
];

const shared = {
  kind: "Event",
  plural: "events",
  resource: "events",
  shortNames: ["ev"],
} satisfies Partial<BuiltinKind>;

const objectFields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

/** Events under their old name, which is also the stored form. */
export const coreEvent = defineKind({
  ...shared,
  group: "",
  version: "v1",
  selectable: [
    ...objectFields.map((field) => `involvedObject.${field}`),
    "reason",
    "reportingComponent",
    "source",
    "type",
  ],
  validate: (draft) => validateRegarding(draft, "involvedObject"),
});

const eventsKind = defineKind({
  ...shared,
  group: "events.k8s.io",
  version: "v1",
  admit: (draft) => rename(draft, 0, "v1") as Draft,
  encode: encodeOnce((object) => rename(object, 1, "events.k8s.io/v1")),
  validate(draft, old) {
    const errors = validateRegarding(draft, "regarding");
    return old === undefined ? [...errors, ...validateNew(draft)] : errors;
  },
});

/** Selectors name the fields of this version, which are read from the stored form. */
export const event = {
  ...eventsKind,
  selectable: new Map(
    [...coreEvent.selectable].map(([path, read]) => [
      path.replace("involvedObject.", "regarding.").replace("reportingComponent", "reportingController"),
      read,
    ]),
  ),
  unknownField: coreEvent.unknownField,
};

/** Renames members from one version to the other; `from` is the index of the name to look for. */
function rename(object: StoredObject | Draft, from: 0 | 1, apiVersion: string): JsonObject {
  const names = new Map(renamed.map((pair) => [pair[from], pair[from === 0 ? 1 : 0]]));
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(object)) {
    const name = names.get(key) ?? key;
    result[name] = value;
  }
  result.apiVersion = apiVersion;
  return result;
}

/** An event lives where its object does; those about cluster-scoped objects live in `default`. */
function validateRegarding(draft: Draft, name: string): FieldError[] {
  const namespace = getPath(draft, ["involvedObject", "namespace"]);
  if (namespace === undefined || namespace === "") {
    return draft.metadata.namespace === "default" || draft.metadata.namespace === "kube-system"
      ? []
      : [invalid(`${name}.namespace`, "", "does not match event.namespace")];
  }
  return namespace === draft.metadata.namespace
    ? []
    : [invalid(`${name}.namespace`, namespace, "does not match event.namespace")];
}

const maxNote = 1024;

/** What the newer version insists on. */
function validateNew(draft: Draft): FieldError[] {
  const errors: FieldError[] = [];
  const needed = [
    ["eventTime", "eventTime"],
    ["reportingComponent", "reportingController"],
    ["reportingInstance", "reportingInstance"],
    ["action", "action"],
    ["reason", "reason"],
  ] as const;
  for (const [member, name] of needed) {
    if (typeof draft[member] !== "string" || draft[member] === "") errors.push(required(name));
  }
  if (draft.type !== "Normal" && draft.type !== "Warning")
    errors.push(invalid("type", draft.type ?? "", "has invalid value: must be Normal or Warning"));
  const { message } = draft;
  if (typeof message === "string" && message.length > maxNote) {
    errors.push(invalid("message", "", `can have at most ${maxNote} characters`));
  }
  return errors;
}
