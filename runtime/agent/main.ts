import { createClient } from "#kube/client.ts";
import { httpTransport } from "#kube/http-transport.ts";
import { apiAccess } from "#kube/process/api-access.ts";
import { serveHttp } from "#kube/process/http-server.ts";
import { createLogger, systemClock, systemRandom } from "#kube/system.ts";
import { createFilesystemStore } from "#runtime/artifacts/filesystem-store.ts";
import { defaultArtifactLimits } from "#runtime/artifacts/limits.ts";
import type { ArtifactStore } from "#runtime/artifacts/store.ts";
import { openSystemFiles } from "#runtime/files/system-files.ts";
import { GrpcExecutorClient } from "#runtime/grpc-executor-client.ts";
import { defaultLogLimits } from "#runtime/logs/limits.ts";
import { createStreamSink } from "#runtime/logs/stream-sink.ts";
import { noReferences } from "#runtime/references/port.ts";
import { systemReferences } from "#runtime/references/system-references.ts";
import { createSystemGit } from "#runtime/source/system-git.ts";
import { type Agent, createAgent } from "./agent.ts";
import { createArtifactServer } from "./artifact-server.ts";
import { listenForArtifacts } from "./artifact-server-http.ts";
import { createDrain } from "./drain.ts";
import { type AgentFlags, parseFlags } from "./flags.ts";
import { agentRoutes } from "./probes.ts";

/** Of the 30 s between the end of a drain and SIGKILL; the executor takes a few of them first. */
const writeDownMs = 20_000;

/** `kruntimes agent`: the process in the container `runtimed`. Ends with SIGTERM. */
export async function main(args: readonly string[]): Promise<void> {
  const flags = parseFlags(args, process.env);
  const logger = createLogger("agent", "info");
  const client = createClient(
    httpTransport({
      ...apiAccess(process.env),
      clock: systemClock,
      random: systemRandom,
      logger,
      userAgent: "kruntimes-agent",
    }),
  );
  const executor = new GrpcExecutorClient(flags.socket);
  const store = await openStore(flags);
  const agent = createAgent(
    {
      client,
      clock: systemClock,
      random: systemRandom,
      logger,
      executor,
      files: await openSystemFiles(flags.workspaceRoot),
      store,
      git: createSystemGit({ clock: systemClock, environment: process.env }),
      references: flags.references === undefined ? noReferences : systemReferences(flags.references),
      sink: createStreamSink(process.stdout),
      self: flags.self,
      logLimits: defaultLogLimits,
      artifactLimits: defaultArtifactLimits,
      sweepIntervalMs: flags.sweepIntervalMs,
    },
    (ready) => process.send?.({ ready }),
  );
  if (store !== undefined && flags.artifactAddress !== undefined) {
    const { namespace } = flags.self;
    const answer = createArtifactServer({ client, store, namespace });
    listenForArtifacts(flags.artifactAddress, answer, { clock: systemClock, logger });
  }
  if (flags.port === undefined) {
    process.once("SIGTERM", () => void agent.drain(flags.drainMs).then(() => process.exit(0)));
  } else {
    await serveKubelet(agent, { client, clock: systemClock, logger, self: flags.self }, flags.drainMs, flags.port);
  }
  await agent.start();
}

/**
 * In a Pod of a real cluster the drain is the preStop hook of the container `runtime`. SIGTERM comes after that container
 * has ended: there is only something to write down. Without a drain before, only this container is restarted: programs
 * run on, and the next process goes on with them.
 */
async function serveKubelet(
  agent: Agent,
  deps: Parameters<typeof createDrain>[0],
  drainMs: number,
  port: number,
): Promise<void> {
  const drain = createDrain(deps, agent, drainMs);
  await serveHttp({ port, logger: deps.logger, routes: agentRoutes(agent, drain) });
  process.once("SIGTERM", () => {
    deps.logger.info("ending", { drained: drain.confirmed });
    // In a namespace that goes away there is nobody to write it down for.
    const writtenDown = drain.confirmed === "deleted" ? agent.drain(writeDownMs) : Promise.resolve(agent.stop());
    void writtenDown.then(() => process.exit(0));
  });
}

async function openStore(flags: AgentFlags): Promise<ArtifactStore | undefined> {
  if (flags.artifactRoot === undefined) return undefined;
  return createFilesystemStore({
    files: await openSystemFiles(flags.artifactRoot),
    owner: { clusterUid: flags.clusterUid, namespace: flags.self.namespace },
    random: systemRandom,
    ...(flags.artifactClaim === undefined ? {} : { volumeClaimName: flags.artifactClaim }),
  });
}
