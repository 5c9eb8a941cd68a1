import type { Routes } from "#kube/process/http-server.ts";
import { single } from "#kube/process/metrics.ts";
import { probeRoutes } from "#kube/process/probes.ts";
import type { Agent } from "./agent.ts";
import type { Drain } from "./drain.ts";

/**
 * What the kubelet asks an agent. Programs of the Pod reach the same port; nothing here tells them a secret, and what
 * they can set off is only what is true anyway.
 */
export function agentRoutes(agent: Pick<Agent, "ready" | "activeRuns">, drain: Drain): Routes {
  return {
    ...probeRoutes({
      notReady: () => (agent.ready ? undefined : "the executor is not healthy, or the first sync is not done"),
      metrics: () => [
        single("kruntimes_agent_ready", "gauge", "1 when the Pod takes Runs.", agent.ready ? 1 : 0),
        single("kruntimes_agent_active_runs", "gauge", "Runs at work in the Pod.", agent.activeRuns),
      ],
    }),
    "GET /drain": async () => ({ status: 200, body: `${await drain.request()}\n` }),
  };
}
