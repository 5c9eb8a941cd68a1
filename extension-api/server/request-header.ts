import type { ConfigMap } from "#kube/builtin.ts";

/** Where the API server publishes how its aggregation layer proves itself. */
export const requestHeaderConfig = { namespace: "kube-system", name: "extension-apiserver-authentication" } as const;

/** How the aggregation layer of the API server proves itself, and in which headers it names the caller. */
export interface RequestHeaders {
  /** PEM of the authorities that sign its client certificate. */
  readonly ca: string;
  /** Common names of that certificate; none: every name is good. */
  readonly allowedNames: readonly string[];
  /** Names of headers, in lower case. */
  readonly username: readonly string[];
  readonly group: readonly string[];
}

/** @throws Error that names the member at fault */
export function parseRequestHeaders({ data = {} }: ConfigMap): RequestHeaders {
  const ca = data["requestheader-client-ca-file"] ?? "";
  if (!ca.includes("-----BEGIN CERTIFICATE-----")) {
    throw new Error(
      `ConfigMap ${requestHeaderConfig.namespace}/${requestHeaderConfig.name} has no requestheader-client-ca-file: ` +
        "the API server runs without an aggregation layer",
    );
  }
  const headers = (name: string) => list(data, name).map((header) => header.toLowerCase());
  const username = headers("requestheader-username-headers");
  if (username.length === 0) {
    throw new Error(`requestheader-username-headers is empty: no header names the caller`);
  }
  return {
    ca,
    allowedNames: list(data, "requestheader-allowed-names"),
    username,
    group: headers("requestheader-group-headers"),
  };
}

function list(data: Readonly<Record<string, string>>, name: string): readonly string[] {
  const text = data[name] ?? "[]";
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
  } catch {
    // said below
  }
  throw new Error(`${name} is no JSON list of texts: ${text}`);
}
