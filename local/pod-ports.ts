import { podPorts } from "#api/pod-layout.ts";
import { pods } from "#kube/builtin.ts";
import type { Client } from "#kube/resource.ts";
import { failure, StatusError } from "#kube/transport.ts";
import type { NodeLayout } from "./node/layout.ts";

/**
 * The unix socket that stands for a port of a Pod. All Pods share the ports of this machine, so only the port that the
 * platform itself serves is known: programs of Runs that listen on a port have it for themselves.
 */
export function podPort(client: Client, layout: NodeLayout) {
  return async (namespace: string, name: string, port: number): Promise<string> => {
    const { metadata, status } = await client.of(pods).get({ namespace, name });
    if (status?.phase !== "Running" || metadata.uid === undefined) {
      const phase = status?.phase ?? "Pending";
      throw new StatusError(failure(400, "BadRequest", `unable to forward port: Pod ${name} is ${phase}, not Running`));
    }
    if (port === podPorts.artifacts) return layout.artifactSocket(metadata.uid);
    const message = `a local cluster forwards port ${podPorts.artifacts} only; a program of Pod ${name} that listens on ${port} does so on this machine`;
    throw new StatusError(failure(400, "BadRequest", message));
  };
}
