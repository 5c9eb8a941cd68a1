import { readFile } from "node:fs/promises";
import { createClient } from "#kube/client.ts";
import { httpTransport } from "#kube/http-transport.ts";
import { createLogger, systemClock, systemRandom } from "#kube/system.ts";
import { createFilesystemStore } from "#runtime/artifacts/filesystem-store.ts";
import { defaultArtifactLimits } from "#runtime/artifacts/limits.ts";
import type { ArtifactStore } from "#runtime/artifacts/store.ts";
import { openSystemFiles } from "#runtime/files/system-files.ts";
import { GrpcExecutorClient } from "#runtime/grpc-executor-client.ts";
import { defaultLogLimits } from "#runtime/logs/limits.ts";
import { createStreamSink } from "#runtime/logs/stream-sink.ts";
import { createSystemGit } from "#runtime/source/system-git.ts";
import { createAgent } from "./agent.ts";
import { createArtifactServer } from "./artifact-server.ts";
import { listenForArtifacts } from "./artifact-server-http.ts";
import { type AgentFlags, apiServer, parseFlags } from "./flags.ts";

/** `kruntimes agent`: the process in the container `runtimed`. Ends with the signal that drains it. */
export async function main(args: readonly string[]): Promise<void> {
  const flags = parseFlags(args, process.env);
  const logger = createLogger("agent", "info");
  const { server, tokenFile } = apiServer(process.env);
  const client = createClient(
    httpTransport({
      server,
      credentials: async () => ({
        headers: { authorization: `Bearer ${(await readFile(tokenFile, "utf8")).trim()}` },
      }),
      clock: systemClock,
      random: systemRandom,
      logger,
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
      sink: createStreamSink(process.stdout),
      self: flags.self,
      logLimits: defaultLogLimits,
      artifactLimits: defaultArtifactLimits,
    },
    (ready) => process.send?.({ ready }),
  );
  if (store !== undefined && flags.artifactAddress !== undefined) {
    const { namespace } = flags.self;
    const answer = createArtifactServer({ client, store, namespace });
    listenForArtifacts(flags.artifactAddress, answer, { clock: systemClock, logger });
  }
  process.once("SIGTERM", () => {
    void agent.drain(flags.drainMs).then(() => process.exit(0));
  });
  await agent.start();
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
