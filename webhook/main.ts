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
import { parseFlags } from "./flags.ts";
import { createHandler } from "./handler.ts";
import { liveLookups } from "./lookups.ts";

/** An API server sends at most 3 MiB of object, and for an update the one before as well. */
const maxBodyBytes = 8 * 1024 * 1024;

const certificateUse: CertificateUse = { of: "the admission webhook", without: "nothing can be created" };

/** `kruntimes webhook`: says no to objects before they are stored. All replicas work. */
export async function main(args: readonly string[]): Promise<void> {
  const flags = parseFlags(args);
  const ports = { clock: systemClock, random: systemRandom, logger: createLogger("webhook", flags.logLevel) };
  const { clock, logger } = ports;
  const shutdown = shutdownSignal(logger);
  const client = createClient(httpTransport({ ...apiAccess(process.env), ...ports, userAgent: "kruntimes-webhook" }));
  const { POD_NAME: pod = "local", POD_NAMESPACE: namespace = "default", POD_UID: uid } = process.env;
  const recorder = createRecorder({ client, ...ports, component: "kruntimes.io/webhook", instance: pod });

  let pair = await readKeyPair(flags.certificate);
  const handler = createHandler({
    lookups: liveLookups(() => client, clock),
    controller: flags.controller,
    clock,
    logger,
  });
  const reviews = await serveHttp({
    port: flags.port,
    logger,
    tls: pair,
    maxBodyBytes,
    routes: { "POST /validate": (request) => handler.handle(request) },
  });
  const probes = await serveHttp({
    port: flags.probePort,
    logger,
    routes: probeRoutes({
      notReady: () => undefined,
      metrics: () => [
        ...handler.metrics(),
        single(
          "kruntimes_webhook_certificate_expiry_timestamp_seconds",
          "gauge",
          "When the certificate in use expires.",
          expiryOf(pair) / 1000,
        ),
      ],
    }),
  });
  logger.info("serving", { port: reviews.port, probePort: probes.port });

  void followKeyPair(
    flags.certificate,
    pair,
    (next) => {
      reviews.useKeyPair(next);
      pair = next;
    },
    { clock, logger, signal: shutdown },
  );
  const self = { apiVersion: "v1", kind: "Pod", name: pod, namespace, ...(uid === undefined ? {} : { uid }) };
  void warnOfExpiry(certificateUse, () => expiryOf(pair), self, { recorder, clock, signal: shutdown });

  await untilAborted(shutdown);
  await Promise.all([reviews.close(), probes.close(), recorder.close()]);
  process.exit(0);
}
