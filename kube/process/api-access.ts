import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { tokenDirectory } from "#api/pod-layout.ts";
import type { HttpTransportOptions } from "#kube/http-transport.ts";

/**
 * How a component of the platform reaches its API server: inside a Pod by what Kubernetes gives to every Pod, under a
 * local cluster by `KRUNTIMES_API_SERVER` and `KRUNTIMES_TOKEN_FILE`. Token and authority are read again each time they
 * are asked for, because both rotate.
 *
 * @param directory with `token` and `ca.crt`, which the kubelet replaces in place
 * @throws Error when the environment says neither
 */
export function apiAccess(
  env: Readonly<Record<string, string | undefined>>,
  directory = tokenDirectory,
): Pick<HttpTransportOptions, "server" | "credentials"> {
  const { KRUNTIMES_API_SERVER: local, KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (local) {
    const file = env.KRUNTIMES_TOKEN_FILE;
    if (!file)
      throw new Error("KRUNTIMES_API_SERVER is set, KRUNTIMES_TOKEN_FILE is not: set both, or neither in a Pod");
    return { server: local, credentials: async () => ({ headers: await bearer(file) }) };
  }
  if (!host || !port) {
    throw new Error(
      "there is no API server in the environment: this is a component of a cluster and runs in a Pod " +
        "(KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are missing)",
    );
  }
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    credentials: async () => ({
      headers: await bearer(join(directory, "token")),
      tls: { ca: await readFile(join(directory, "ca.crt"), "utf8") },
    }),
  };
}

async function bearer(file: string): Promise<Record<string, string>> {
  return { authorization: `Bearer ${(await readFile(file, "utf8")).trim()}` };
}
