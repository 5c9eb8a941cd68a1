import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { parseDuration } from "#api/duration.ts";
import type { Amounts } from "#api/quantity.ts";
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

/** Longest time that a drain takes when the flag is missing: five minutes, as in `Runtime.spec.drain`. */
const defaultDrainMs = 300_000;

/** `kruntimes agent`: the process in the container `runtimed`. Ends with the signal that drains it. */
export async function main(args: readonly string[]): Promise<void> {
  const flags = parse(args);
  const logger = createLogger("agent", "info");
  const client = createClient(
    httpTransport({
      server: flags.server,
      credentials: async () => ({
        headers: { authorization: `Bearer ${(await readFile(flags.tokenFile, "utf8")).trim()}` },
      }),
      clock: systemClock,
      random: systemRandom,
      logger,
    }),
  );
  const executor = new GrpcExecutorClient(flags.socket);
  const agent = createAgent(
    {
      client,
      clock: systemClock,
      random: systemRandom,
      logger,
      executor,
      files: await openSystemFiles(flags.workspaceRoot),
      store: await openStore(flags),
      git: createSystemGit({ clock: systemClock, environment: process.env }),
      sink: createStreamSink(process.stdout),
      self: flags.self,
      logLimits: defaultLogLimits,
      artifactLimits: defaultArtifactLimits,
    },
    (ready) => process.send?.({ ready }),
  );
  process.once("SIGTERM", () => {
    void agent.drain(flags.drainMs).then(() => process.exit(0));
  });
  await agent.start();
}

async function openStore(flags: Flags): Promise<ArtifactStore | undefined> {
  if (flags.artifactRoot === undefined) return undefined;
  return createFilesystemStore({
    files: await openSystemFiles(flags.artifactRoot),
    owner: { clusterUid: flags.clusterUid, namespace: flags.self.namespace },
    random: systemRandom,
    ...(flags.artifactClaim === undefined ? {} : { volumeClaimName: flags.artifactClaim }),
  });
}

type Flags = ReturnType<typeof parse>;

function parse(args: readonly string[]) {
  const string = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      runtime: string,
      socket: string,
      "workspace-root": string,
      capacity: string,
      "drain-timeout": string,
      "cluster-uid": string,
      "artifact-root": string,
      "artifact-claim": string,
    },
  });
  const needed = (name: string, value: string | undefined): string => {
    if (value === undefined || value === "") throw new Error(`kruntimes agent: ${name} is missing`);
    return value;
  };
  const variable = (name: string) => needed(`environment variable ${name}`, process.env[name]);
  const runtime = needed("--runtime", values.runtime);
  return {
    server: variable("KRUNTIMES_API_SERVER"),
    tokenFile: variable("KRUNTIMES_TOKEN_FILE"),
    socket: needed("--socket", values.socket),
    workspaceRoot: needed("--workspace-root", values["workspace-root"]),
    drainMs: parseDuration(values["drain-timeout"]) ?? defaultDrainMs,
    clusterUid: needed("--cluster-uid", values["cluster-uid"]),
    artifactRoot: values["artifact-root"],
    artifactClaim: values["artifact-claim"],
    self: {
      pod: variable("POD_NAME"),
      podUid: variable("POD_UID"),
      namespace: variable("POD_NAMESPACE"),
      runtime,
      capacity: JSON.parse(needed("--capacity", values.capacity)) as Amounts,
    },
  };
}
