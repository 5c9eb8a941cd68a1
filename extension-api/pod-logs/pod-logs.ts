import type { Clock, Logger, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import type { AgentLogs, PodId } from "../logs/ports.ts";
import { LiveLog } from "./live.ts";
import { PodLog } from "./pod-log.ts";
import { podState } from "./pod-state.ts";
import { openStored, podGone } from "./source.ts";

export interface PodLogsDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** What all streams together may keep for slow readers, in bytes; and one of them at most and at least. */
const totalBytes = 64 * 1024 * 1024;
const mostBytes = 4 * 1024 * 1024;
const leastBytes = 256 * 1024;

export interface PodLogs extends AgentLogs {
  /** Streams from the API server that are open, and what waits in them for slow readers in bytes. */
  stats(): { readonly streams: number; readonly bytes: number };
}

/** The logs of the agents of a cluster, through its API server with the rights `get pods` and `get pods/log`. */
export function podLogs(deps: PodLogsDeps): PodLogs {
  const live = new Map<string, { readonly log: LiveLog; users: number }>();
  const maxBytes = () => Math.max(leastBytes, Math.min(mostBytes, totalBytes / live.size));

  function share(pod: PodId & { readonly uid: string }): LiveLog {
    const existing = live.get(pod.uid);
    if (existing !== undefined) {
      existing.users++;
      return existing.log;
    }
    const log = new LiveLog(pod, {
      ...deps,
      maxBytes,
      open: (range, signal) => openStored(deps.client.transport, pod, range, signal),
      state: (signal) => podState(deps.client, pod, signal),
    });
    live.set(pod.uid, { log, users: 1 });
    return log;
  }

  function unshare(uid: string): void {
    const shared = live.get(uid);
    if (shared !== undefined && --shared.users === 0) live.delete(uid);
  }

  return {
    stats: () => {
      const open = [...live.values()].filter(({ log }) => log.readers > 0);
      return { streams: open.length, bytes: open.reduce((sum, { log }) => sum + log.bytes, 0) };
    },
    async open(pod, follow, signal) {
      const { name } = pod;
      const state = await podState(deps.client, pod, signal);
      if (state === undefined) throw podGone(name);
      const { uid } = state;
      return new PodLog({
        podUid: uid,
        podName: name,
        state,
        look: async () => podState(deps.client, { ...pod, uid }, signal),
        open: (range) => openStored(deps.client.transport, pod, range, signal),
        live: follow ? share({ ...pod, uid }) : undefined,
        onClose: () => {
          if (follow) unshare(uid);
        },
      });
    },
  };
}
