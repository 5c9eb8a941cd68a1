import { namespaces, pods } from "#kube/builtin.ts";
import { sleep } from "#kube/ports.ts";
import { isNotFound } from "#kube/transport.ts";
import type { Agent } from "./agent.ts";
import type { AgentDeps } from "./deps.ts";

/** Pause before the API server is asked again, in milliseconds. */
const askAgainMs = 1000;

type Wish = "kept" | "deleted" | "namespace-deleted";

export interface Drain {
  /**
   * Answers the preStop hook of the container `runtime`: at once when the Pod is not being deleted (only that container
   * is restarted, or a program called the port), else when the agent is idle or the drain timeout is over. All callers
   * at one time share one drain.
   */
  request(): Promise<string>;
  /** What is being deleted, as far as {@link request} found out; nothing, until it did. */
  readonly confirmed: "deleted" | "namespace-deleted" | undefined;
}

/**
 * The end of a Pod in order. That the Pod is really being deleted is read live: anything in the Pod can call the hook,
 * and a drain cannot be taken back. In a namespace that is going away nothing is waited for: nobody needs the results,
 * and the deletion of the namespace would hang for the drain timeout.
 */
export function createDrain(
  deps: Pick<AgentDeps, "client" | "clock" | "logger" | "self">,
  agent: Pick<Agent, "drain">,
  drainMs: number,
): Drain {
  const { client, clock, logger, self } = deps;
  let underWay: Promise<string> | undefined;
  let confirmed: Drain["confirmed"];

  async function wish(): Promise<Wish> {
    try {
      const pod = await client.of(pods).get({ name: self.pod, namespace: self.namespace });
      if (pod.metadata.uid === self.podUid && pod.metadata.deletionTimestamp === undefined) return "kept";
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    try {
      const namespace = await client.of(namespaces).get({ name: self.namespace });
      return namespace.metadata.deletionTimestamp === undefined ? "deleted" : "namespace-deleted";
    } catch (error) {
      if (isNotFound(error)) return "namespace-deleted";
      logger.warn("cannot read the namespace; draining as usual", { error });
      return "deleted";
    }
  }

  /** Undefined when the API server did not answer until `end`: then the Pod goes on as it is. */
  async function wishBefore(end: number): Promise<Wish | undefined> {
    for (;;) {
      try {
        return await wish();
      } catch (error) {
        logger.warn("cannot read the Pod to confirm that it is being deleted", { error });
      }
      if (clock.monotonic() + askAgainMs >= end) return undefined;
      await sleep(clock, askAgainMs);
    }
  }

  async function drain(): Promise<string> {
    const end = clock.monotonic() + drainMs;
    const wished = await wishBefore(end);
    if (wished === undefined) return "not confirmed: the API server does not answer";
    if (wished === "kept") return `Pod ${self.pod} is not being deleted`;
    confirmed = wished;
    logger.info("draining", { why: wished });
    await agent.drain(wished === "namespace-deleted" ? 0 : Math.max(0, end - clock.monotonic()));
    return "drained";
  }

  return {
    get confirmed() {
      return confirmed;
    },
    request() {
      underWay ??= drain().finally(() => {
        underWay = undefined;
      });
      return underWay;
    },
  };
}
