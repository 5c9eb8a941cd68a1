import { podContainers } from "#api/pod-layout.ts";
import { type Pod, pods } from "#kube/builtin.ts";
import type { Client } from "#kube/resource.ts";
import { isNotFound } from "#kube/transport.ts";
import type { PodId } from "../logs/ports.ts";
import { storedError } from "./source.ts";

/** What has to be known of a Pod to read its log. */
export interface PodState {
  readonly uid: string;
  /** How often the agent's container was started again: of more than 0, the log of its run before is kept, too. */
  readonly restarts: number;
}

/**
 * @returns undefined when there is no such Pod any more, or another one has its name
 * @throws LogUnavailableError
 */
export async function podState(client: Client, pod: PodId, signal: AbortSignal): Promise<PodState | undefined> {
  try {
    const { name, namespace } = pod;
    const found = await client.of(pods).get({ name, namespace }, signal);
    const { uid } = found.metadata;
    if (uid === undefined || (pod.uid !== undefined && pod.uid !== uid)) return undefined;
    return { uid, restarts: restarts(found) };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw storedError(error, pod.name);
  }
}

function restarts({ status }: Pod): number {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return containers.find(({ name }) => name === podContainers.agent)?.restartCount ?? 0;
}
