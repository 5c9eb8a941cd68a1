import { createClient } from "#kube/client.ts";
import { createRecorder } from "#kube/events.ts";
import { httpTransport } from "#kube/http-transport.ts";
import { createLeaseElection } from "#kube/lease.ts";
import type { Clock, Logger, Random, Recorder } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import { apiAccess } from "./api-access.ts";
import type { ComponentFlags } from "./flags.ts";
import { serveHttp } from "./http-server.ts";
import { type Metric, single } from "./metrics.ts";
import { probeRoutes } from "./probes.ts";

/** What a component works with while it may act. */
export interface Work {
  /** Its calls fail at once when the right to act has ended. */
  readonly client: Client;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Aborted when the work has to end. */
  readonly signal: AbortSignal;
  /** To be called when the work is under way: caches are filled. */
  readonly started: () => void;
  /** What a scrape shows of the work. */
  readonly showMetrics: (metrics: () => readonly Metric[]) => void;
}

export interface ComponentOptions {
  /** `scheduler`, `controller`: for logs, the Lease `kruntimes-<name>` and the source of Events. */
  readonly name: string;
  readonly flags: ComponentFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Aborted when the process is asked to end. */
  readonly shutdown: AbortSignal;
  /** Works until the signal is aborted. */
  readonly work: (work: Work) => Promise<void>;
}

/**
 * A failover must be over in 20 s: the Lease of a holder that vanished is taken after at most
 * {@link leaseDurationMs} + 1.2 x {@link retryPeriodMs}, and then caches are filled.
 */
const leaseDurationMs = 12_000;
const renewDeadlineMs = 8_000;
const retryPeriodMs = 2_000;

type State = "standby" | "starting" | "working" | "over";

/**
 * The life of a component of which one replica works and the others stand by. Returns true when it ended because it was
 * asked to; false when it lost its Lease: then the process should end, and begin again with nothing in its memory.
 */
export async function runComponent(options: ComponentOptions): Promise<boolean> {
  const { name, flags, clock, random, logger, shutdown } = options;
  const transport = httpTransport({ ...apiAccess(options.env), clock, random, logger, userAgent: `kruntimes-${name}` });
  const client = createClient(transport);
  const identity = `${options.env.POD_NAME ?? "local"}_${random.uuid()}`;
  let state: State = "standby";
  let workMetrics: () => readonly Metric[] = () => [];

  const leading = () => (state === "starting" || state === "working" ? 1 : 0);
  const probes = await serveHttp({
    port: flags.port,
    logger,
    routes: probeRoutes({
      notReady: () => (state === "starting" ? "the caches are not filled yet" : undefined),
      metrics: () => [
        single("kruntimes_leader", "gauge", "1 when this replica does the work.", leading()),
        ...workMetrics(),
      ],
    }),
  });

  async function lead(work: Pick<Work, "client" | "signal">): Promise<void> {
    state = "starting";
    const recorder = createRecorder({
      client: work.client,
      clock,
      random,
      logger,
      component: `kruntimes.io/${name}`,
      instance: identity,
    });
    try {
      await options.work({
        ...work,
        recorder,
        clock,
        random,
        logger,
        started: () => {
          if (state === "starting") state = "working";
        },
        showMetrics: (metrics) => {
          workMetrics = metrics;
        },
      });
    } finally {
      state = "over";
      await recorder.close();
    }
  }

  try {
    if (!flags.leaderElect) await lead({ client, signal: shutdown });
    else {
      const election = createLeaseElection({
        client,
        namespace: flags.namespace,
        name: `kruntimes-${name}`,
        identity,
        clock,
        random,
        logger,
        leaseDurationMs,
        renewDeadlineMs,
        retryPeriodMs,
      });
      await election.run(lead, shutdown);
    }
    return shutdown.aborted;
  } finally {
    await probes.close();
    await transport.close();
  }
}

/** Resolves when the signal is aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
