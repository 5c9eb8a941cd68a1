import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { Plugins } from "#controllers/scheduler/framework.ts";
import { defaultPlugins } from "#controllers/scheduler/plugins.ts";
import type { ApiRequest, Transport } from "#kube/transport.ts";
import type { ExecutorClient } from "#runtime/executor-client.ts";
import type { Files } from "#runtime/files/port.ts";

/** Something wrong that is built in on purpose, to prove that the rules would notice. */
export interface Defect {
  readonly plugins?: Plugins;
  /** What each agent talks to in place of its executor. */
  readonly executor?: (executor: ExecutorClient) => ExecutorClient;
  /** What each agent has in place of its workspace volume. */
  readonly files?: (files: Files) => Files;
  /** What each agent talks to in place of the API server. */
  readonly agents?: (transport: Transport) => Transport;
  /** What the controllers talk to in place of the API server. */
  readonly controllers?: (transport: Transport) => Transport;
}

/** A scheduler that looks at everything but room. */
export const noCapacityFilter: Defect = {
  plugins: { ...defaultPlugins, filters: defaultPlugins.filters.filter(({ name }) => name !== "capacity") },
};

/** An agent that takes every executor for one that was always there: what it does not list was never started. */
export const ageOfExecutorIgnored: Defect = {
  executor: (executor) => ({
    ...executor,
    health: async (signal) => ({ ...(await executor.health(signal)), bootTime: 0 }),
  }),
};

/** An agent that hears of good ends only. */
export const exitCodesIgnored: Defect = {
  executor: (executor) => ({
    ...executor,
    watch: (id, fromSeq, onEvent, signal, taken) =>
      executor.watch(
        id,
        fromSeq,
        (event) =>
          onEvent(
            event.kind === "exited" ? { ...event, exit: { ...event.exit, cause: "exited", exitCode: 0 } } : event,
          ),
        signal,
        taken,
      ),
  }),
};

/** An agent that begins by tidying up what others need. */
export const workspacesRemovedAtStart: Defect = {
  files: (files) => {
    let tidied: Promise<void> | undefined;
    return new Proxy(files, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          tidied ??= target.remove(`${target.root}/persistent`);
          await tidied;
          return Reflect.apply(member, target, args);
        };
      },
    });
  },
};

/** Controllers that believe to have taken Runs away from lost Pods, and have not. */
export const recoveryIsLost: Defect = {
  controllers: (transport) => ({
    ...transport,
    request: <T>(request: ApiRequest) =>
      request.method === "PUT" && /\/runs\/[^/]+\/status$/.test(request.path)
        ? Promise.resolve(request.body as T)
        : transport.request<T>(request),
  }),
};

/** Controllers that apply actions and do not write down that they did. */
export const recordsAreLost: Defect = {
  controllers: (transport) => ({
    ...transport,
    request: <T>(request: ApiRequest) => {
      if (request.method !== "PUT" || !/\/workflowruns\/[^/]+\/status$/.test(request.path)) {
        return transport.request<T>(request);
      }
      const body = request.body as WorkflowRun;
      const { appliedActions: _, ...status } = body.status ?? { phase: "Pending" as const };
      return transport.request<T>({ ...request, body: { ...body, status } });
    },
  }),
};

/** Agents to whose sweep every Run is gone. */
export const runsUnseenBySweep: Defect = {
  agents: (transport) => ({
    ...transport,
    request: <T>(request: ApiRequest) =>
      request.method === "GET" && request.path.endsWith("/runs") && request.query?.fieldSelector === undefined
        ? Promise.resolve({ metadata: {}, items: [] } as T)
        : transport.request<T>(request),
  }),
};
