import { createControllers } from "#controllers/index.ts";
import { createScheduler } from "#controllers/scheduler/index.ts";
import { namespaces } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { createRecorder } from "#kube/events.ts";
import { type ApiHandler, memoryTransport } from "#kube/memory.ts";
import type { Clock, Logger, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import { type ApiServer, createApiServer } from "#local/apiserver/index.ts";
import { createReplicaSetController } from "#local/replicaset/index.ts";
import { localAdmission } from "./admission.ts";
import { platformCrds } from "./crds.ts";
import { withExtensions } from "./extensions.ts";
import { bearerCheck } from "./http/bearer.ts";
import { createFront } from "./http/front.ts";
import { portForward } from "./http/port-forward.ts";
import { type OnExchange, recordApi, recordHttp } from "./http/recorder.ts";
import { controllerUser, tokenUser } from "./identities.ts";
import { localLogs } from "./logs/index.ts";
import { localPodLogs } from "./logs/pod-log.ts";
import { FileLines } from "./node/file-lines.ts";
import { nodeLayout } from "./node/layout.ts";
import { createNode, type LocalNode } from "./node/node.ts";
import { PodLogs } from "./node/pod-logs.ts";
import { systemDirectories } from "./node/system-directories.ts";
import { systemProcesses } from "./node/system-processes.ts";
import { clientLibraryModels } from "./openapi/model-files.ts";
import { createModels } from "./openapi/models.ts";
import { podPort } from "./pod-ports.ts";
import { openState, type StorageChoice } from "./state/state.ts";

export interface ClusterOptions {
  /** Everything of the cluster is below it. It exists, and no other process uses it. */
  readonly stateDirectory: string;
  /** Default `memory`: gone with the process. */
  readonly storage?: StorageChoice;
  /** Command that takes a component and its flags, e.g. `[node, bin/kruntimes.mjs]`. */
  readonly entry: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** TTL of the workspace of a job that is over, in seconds; default one hour: long enough to look at the files. */
  readonly jobWorkspaceTtlSeconds?: number;
  /** Is told of every request to the API server and its answer; for diagnosis and recordings. */
  readonly onExchange?: OnExchange;
}

/** A cluster in this process; only agents and executors are processes of their own. */
export interface Cluster {
  readonly client: Client;
  readonly api: ApiServer;
  /** Address for the node's processes, with the token in the state directory. */
  readonly url: string;
  /** Path of the kubeconfig for kubectl and krt. */
  readonly kubeconfig: string;
  readonly node: LocalNode;
  readonly logs: PodLogs;
  /** Ends everything. No process of a Pod is left when it resolves. */
  stop(): Promise<void>;
}

const defaultJobWorkspaceTtlSeconds = 3600;

/** How long answered WorkflowActions stay to be looked at. */
const actionTtlSeconds = 86_400;

/** Image of the platform in Pod templates; nothing is pulled here. */
const platformImage = "kruntimes:local";

/**
 * Starts API server, scheduler, controllers and node.
 *
 * @throws StateInUseError when another process uses the state directory
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  // Everything that is begun is ended in the opposite order, at the end or when the next thing fails.
  const begun = new AsyncDisposableStack();
  try {
    return await start(options, begun);
  } catch (error) {
    await begun.disposeAsync();
    throw error;
  }
}

async function start(options: ClusterOptions, begun: AsyncDisposableStack): Promise<Cluster> {
  const state = openState(options.stateDirectory, options.storage ?? "memory", options);
  begun.defer(() => state.release());
  const { clock, random, logger } = options;
  const ending = new AbortController();
  const client = createClient(
    memoryTransport({ handle: (r) => inProcess.handle(r), watch: (r) => inProcess.watch(r) }, clock),
  );
  const api = createApiServer({
    crds: platformCrds(),
    admission: [localAdmission(() => client, clock)],
    storage: state.storage,
    clock,
    random,
  });
  begun.defer(() => api.close());
  const layout = nodeLayout(options.stateDirectory);
  const files = new FileLines();
  begun.defer(() => files.close());
  const logs = new PodLogs(files);
  const deps = { client, clock, random, logger };
  const extensions = localLogs({ ...deps, layout, logs });
  const { onExchange } = options;
  const served = withExtensions(api, extensions);
  const recorded = (handler: ApiHandler) => (onExchange === undefined ? handler : recordApi(handler, onExchange));
  const inProcess = recorded(served);
  const ofController = recorded(withExtensions(api.as(controllerUser), extensions));
  const authorized = bearerCheck(state.credentials.token);
  const front = createFront({
    api,
    clock,
    models: createModels(clientLibraryModels()),
    authorized,
    user: tokenUser,
    extensions,
    podLog: localPodLogs({ client, clock, layout, logs }),
  });
  const upgrades = portForward({ authorized, resolve: podPort(client, layout) });
  const endpoint = await state.serve(onExchange === undefined ? front : recordHttp(front, onExchange), { upgrades });
  begun.defer(() => endpoint.close());

  const system = await client.of(namespaces).get({ name: "kube-system" });
  const scheduler = createScheduler(deps);
  const recorder = createRecorder({ ...deps, component: "kruntimes.io/controller", instance: "local" });
  begun.defer(() => recorder.close());
  const controllers = createControllers(
    { ...deps, client: createClient(memoryTransport(ofController, clock)), recorder },
    {
      pool: { image: platformImage, clusterUid: system.metadata.uid ?? "" },
      workflow: { workspaceTtlSeconds: options.jobWorkspaceTtlSeconds ?? defaultJobWorkspaceTtlSeconds },
      actions: { ttlSeconds: actionTtlSeconds },
    },
  );
  const replicaSets = createReplicaSetController(deps);
  const node = createNode({
    ...deps,
    layout,
    processes: systemProcesses(options.entry, clock),
    directories: systemDirectories,
    logs,
    agentEnv: { KRUNTIMES_API_SERVER: endpoint.url, KRUNTIMES_TOKEN_FILE: layout.tokenFile },
  });
  begun.defer(async () => {
    ending.abort();
    await Promise.all([scheduler.stop(), controllers.stop(), replicaSets.stop(), node.stop()]);
  });
  await Promise.all([
    node.start(ending.signal),
    replicaSets.start(ending.signal),
    controllers.start(ending.signal),
    scheduler.start(ending.signal),
  ]);

  return {
    client,
    api,
    url: endpoint.url,
    kubeconfig: endpoint.kubeconfig,
    node,
    logs,
    stop: () => begun.disposeAsync(),
  };
}
