import type { Structural } from "../structural.ts";

/** A node of a schema with its path, and what is wrong with it by the rules for structural schemas. */
export interface SchemaFault {
  readonly path: string;
  readonly fault: string;
}

/** All nodes of a schema with their paths, the root first. */
export function walk(node: Structural, path = "$"): { node: Structural; path: string }[] {
  return [
    { node, path },
    ...Object.entries(node.properties ?? {}).flatMap(([name, member]) => walk(member, `${path}.${name}`)),
    ...(node.additionalProperties ? walk(node.additionalProperties, `${path}.*`) : []),
    ...(node.items ? walk(node.items, `${path}[]`) : []),
  ];
}

/**
 * What the API server would refuse in a schema (apiextensions.k8s.io/v1, "structural schema"), and what we ask for beyond it: a bound on
 * everything that can grow, so that no object outgrows the store.
 */
export function schemaFaults(root: Structural): SchemaFault[] {
  return walk(root).flatMap(({ node, path }) => nodeFaults(node).map((fault) => ({ path, fault })));
}

function nodeFaults(node: Structural): string[] {
  return [
    ...typeFaults(node),
    ...memberFaults(node),
    ...listFaults(node),
    ...boundFaults(node),
    ...defaultFaults(node),
  ];
}

function typeFaults(node: Structural): string[] {
  const intOrString = node["x-kubernetes-int-or-string"] === true;
  const open = node["x-kubernetes-preserve-unknown-fields"] === true;
  const faults: string[] = [];
  if (node.type === undefined && !intOrString && !open) faults.push("no type");
  if (intOrString && node.type !== undefined) faults.push("a type beside int-or-string");
  if (node.anyOf !== undefined && !intOrString) faults.push("anyOf without int-or-string");
  if (node.anyOf !== undefined && JSON.stringify(node.anyOf) !== '[{"type":"integer"},{"type":"string"}]') {
    faults.push("anyOf says more than integer or string");
  }
  return faults;
}

function memberFaults(node: Structural): string[] {
  const faults: string[] = [];
  const members = Object.keys(node.properties ?? {});
  if (node.properties !== undefined && node.additionalProperties !== undefined)
    faults.push("both named and free members");
  if ((node.properties ?? node.additionalProperties) !== undefined && node.type !== "object")
    faults.push("members without object");
  if (node.items !== undefined && node.type !== "array") faults.push("items without array");
  for (const name of node.required ?? []) {
    if (!members.includes(name)) faults.push(`required ${name} is not described`);
  }
  for (const [name, member] of Object.entries(node.properties ?? {})) {
    if (!member.description) faults.push(`${name} has no description`);
  }
  return faults;
}

function listFaults(node: Structural): string[] {
  if (node.type !== "array") return [];
  const { items } = node;
  if (items === undefined) return ["a list without items"];
  const faults: string[] = [];
  const keys = node["x-kubernetes-list-map-keys"];
  const isMap = node["x-kubernetes-list-type"] === "map";
  if (isMap !== (keys !== undefined)) faults.push("keys and list type map go together");
  for (const key of keys ?? []) {
    const member = items.properties?.[key];
    if (member?.type === undefined || member.type === "object" || member.type === "array")
      faults.push(`key ${key} is no scalar`);
    if (!items.required?.includes(key) && member?.default === undefined) faults.push(`key ${key} is not required`);
  }
  if (node["x-kubernetes-list-type"] === "set" && (items.type === "object" || items.type === "array")) {
    faults.push("a set of objects");
  }
  return faults;
}

function boundFaults(node: Structural): string[] {
  if (node["x-kubernetes-preserve-unknown-fields"] === true) return [];
  if (node.type === "string" && (node.maxLength ?? node.enum ?? node.format) === undefined)
    return ["text without bound"];
  if (node.type === "array" && node.maxItems === undefined) return ["list without bound"];
  if (node.additionalProperties !== undefined && node.maxProperties === undefined) return ["map without bound"];
  return [];
}

/** A default must be a valid value that pruning leaves alone. */
function defaultFaults(node: Structural): string[] {
  return node.default === undefined ? [] : valueFaults(node.default, node);
}

function valueFaults(value: unknown, node: Structural): string[] {
  if (node.enum !== undefined && !node.enum.includes(String(value))) return [`default ${String(value)} is not in enum`];
  if (node.type === "integer") return Number.isInteger(value) ? [] : ["default is no integer"];
  if (node.type === "string" || node.type === "boolean")
    return typeof value === node.type ? [] : [`default is no ${node.type}`];
  if (node.type !== "object" || typeof value !== "object" || value === null) return ["default cannot be checked"];
  return [
    ...(node.required ?? []).filter((name) => !Object.hasOwn(value, name)).map((name) => `default lacks ${name}`),
    ...Object.entries(value).flatMap(([name, member]) => {
      const described = node.properties?.[name];
      return described === undefined ? [`default has ${name}, which would be pruned`] : valueFaults(member, described);
    }),
  ];
}
