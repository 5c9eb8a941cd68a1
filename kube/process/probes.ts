import type { Routes } from "./http-server.ts";
import { exposition, expositionType, type Metric, single } from "./metrics.ts";

export interface Probed {
  /** Why the component does not do its work yet; undefined when it does. */
  readonly notReady: () => string | undefined;
  readonly metrics: () => readonly Metric[];
}

/**
 * `/healthz`: the process answers. `/readyz`: it does its work, or waits for it as a standby. `/metrics`: Prometheus.
 * Readiness never asks the API server: an outage there must not take down what works without it.
 */
export function probeRoutes(probed: Probed): Routes {
  return {
    "GET /healthz": () => ({ status: 200, body: "ok\n" }),
    "GET /readyz": () => {
      const why = probed.notReady();
      return why === undefined ? { status: 200, body: "ok\n" } : { status: 503, body: `not ready: ${why}\n` };
    },
    "GET /metrics": () => ({
      status: 200,
      type: expositionType,
      body: exposition([...probed.metrics(), ...processMetrics()]),
    }),
  };
}

function processMetrics(): Metric[] {
  const { user, system } = process.cpuUsage();
  return [
    single("process_cpu_seconds_total", "counter", "CPU time of the process in seconds.", (user + system) / 1e6),
    single("process_resident_memory_bytes", "gauge", "Resident memory in bytes.", process.memoryUsage.rss()),
    single("process_uptime_seconds", "gauge", "Seconds since the start of the process.", process.uptime()),
  ];
}
