import { createClient } from "#kube/client.ts";
import { createRecorder } from "#kube/events.ts";
import { httpTransport } from "#kube/http-transport.ts";
import { apiAccess } from "#kube/process/api-access.ts";
import { type CertificateUse, warnOfExpiry } from "#kube/process/certificate-expiry.ts";
import { expiryOf, followKeyPair, readKeyPair } from "#kube/process/certificate-files.ts";
import { untilAborted } from "#kube/process/component.ts";
import { serveHttp } from "#kube/process/http-server.ts";
import { single } from "#kube/process/metrics.ts";
import { probeRoutes } from "#kube/process/probes.ts";
import { shutdownSignal } from "#kube/process/signals.ts";
import { createLogger, systemClock, systemRandom } from "#kube/system.ts";
import { createLogService } from "../logs/service.ts";
import { clusterRuns } from "../pod-logs/cluster-runs.ts";
import { podLogs } from "../pod-logs/pod-logs.ts";
import { Counters, streamMetrics } from "./exposition.ts";
import { parseFlags } from "./flags.ts";
import { serveApi } from "./https-server.ts";
import { addLogRoutes } from "./log-routes.ts";
import type { RequestHeaders } from "./request-header.ts";
import { watchRequestHeaders } from "./watched-config.ts";

const certificateUse: CertificateUse = {
  of: "the run-extension-api",
  without: "no log can be read and no namespace can be deleted",
};

/** `kruntimes run-extension-api`: the APIs behind the API server's aggregation layer. All replicas work. */
export async function main(args: readonly string[]): Promise<void> {
  const flags = parseFlags(args);
  const ports = { clock: systemClock, random: systemRandom, logger: createLogger("run-extension-api", flags.logLevel) };
  const { clock, logger } = ports;
  const shutdown = shutdownSignal(logger);
  const userAgent = "kruntimes-run-extension-api";
  const client = createClient(httpTransport({ ...apiAccess(process.env), ...ports, userAgent }));
  const { POD_NAME: pod = "local", POD_NAMESPACE: namespace = "default", POD_UID: uid } = process.env;
  const recorder = createRecorder({ client, ...ports, component: "kruntimes.io/run-extension-api", instance: pod });

  let pair = await readKeyPair(flags.certificate);
  let useRequestHeaders: ((headers: RequestHeaders) => void) | undefined;
  let isReady = false;
  const counters = new Counters();
  const logs = podLogs({ client, ...ports });
  const service = createLogService({ clock, runs: clusterRuns({ client, ...ports }), logs });
  const probes = await serveHttp({
    port: flags.probePort,
    logger,
    routes: probeRoutes({
      notReady: () => (isReady ? undefined : "the identity of the aggregation layer is not known yet"),
      metrics: () => [
        ...counters.metrics(),
        ...streamMetrics({ ...service.stats(), ...logs.stats() }),
        single(
          "kruntimes_run_extension_api_certificate_expiry_timestamp_seconds",
          "gauge",
          "When the certificate in use expires.",
          expiryOf(pair) / 1000,
        ),
      ],
    }),
  });

  const requestHeaders = await watchRequestHeaders({ client, ...ports }, (next) => useRequestHeaders?.(next), shutdown);
  const api = await serveApi({
    port: flags.port,
    pair,
    requestHeaders,
    logger,
    onAnswer: (code) => counters.answered(code),
    routes: (app) =>
      addLogRoutes(app, {
        service,
        clock,
        logger,
        ending: shutdown,
        sent: (records, bytes) => counters.sent(records, bytes),
      }),
  });
  useRequestHeaders = (next) => api.useRequestHeaders(next);
  isReady = true;
  logger.info("serving", { port: api.port, probePort: probes.port });

  const use = (next: typeof pair) => {
    api.useKeyPair(next);
    pair = next;
  };
  void followKeyPair(flags.certificate, pair, use, { clock, logger, signal: shutdown });
  const self = { apiVersion: "v1", kind: "Pod", name: pod, namespace, ...(uid === undefined ? {} : { uid }) };
  void warnOfExpiry(certificateUse, () => expiryOf(pair), self, { recorder, clock, signal: shutdown });

  await untilAborted(shutdown);
  await Promise.all([api.close(), probes.close(), recorder.close()]);
  process.exit(0);
}
