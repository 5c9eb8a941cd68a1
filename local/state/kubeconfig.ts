import { stringify } from "yaml";
import type { Credentials } from "./credentials.ts";

/** Name of context, cluster and user. */
export const contextName = "krt-local";

/** A kubeconfig for the cluster at an address, with the namespace `default`. */
export function kubeconfigText(server: string, { cert, token }: Pick<Credentials, "cert" | "token">): string {
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": contextName,
    contexts: [{ name: contextName, context: { cluster: contextName, user: contextName, namespace: "default" } }],
    clusters: [
      {
        name: contextName,
        cluster: { server, "certificate-authority-data": Buffer.from(cert).toString("base64") },
      },
    ],
    users: [{ name: contextName, user: { token } }],
  });
}
