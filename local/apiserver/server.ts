import type { ApiHandler } from "#kube/memory.ts";
import type { Clock, Random } from "#kube/ports.ts";
import type { ApiRequest } from "#kube/transport.ts";
import { TransportError } from "#kube/transport.ts";
import type { AdmissionRule } from "./admission.ts";
import { createBackground } from "./background.ts";
import type { ChangeListener, Context } from "./context.ts";
import { type Counters, createCounters } from "./counters.ts";
import { loadCustomKinds } from "./crd/load.ts";
import type { CustomResourceDefinition } from "./crd/types.ts";
import { badRequest, methodNotAllowed, noSuchResource } from "./errors.ts";
import { createWatchRoute, type FaultHooks, type FaultRequest, withFault } from "./faults.ts";
import { createGarbageCollector } from "./garbage-collector.ts";
import { isReview, review } from "./kinds/access-review.ts";
import { builtinKinds } from "./kinds/builtin.ts";
import { createMemoryStorage } from "./memory-storage.ts";
import { bootstrapNamespaces, createNamespaceController } from "./namespaces.ts";
import { createRegistry, type Registry } from "./registry.ts";
import { parseRoute, type Route, type Verb, verbOf } from "./routes.ts";
import type { Storage } from "./storage.ts";
import type { Answer, Target, UserInfo, VerbRequest } from "./types.ts";
import { bind } from "./verbs/binding.ts";
import { create } from "./verbs/create.ts";
import { remove, removeCollection } from "./verbs/delete.ts";
import { finalize } from "./verbs/finalize.ts";
import { patch } from "./verbs/patch.ts";
import { get, list } from "./verbs/read.ts";
import { scale } from "./verbs/scale.ts";
import { update } from "./verbs/update.ts";
import { watch } from "./verbs/watch.ts";
import { createWatchHub } from "./watch-hub.ts";

/** What a server is made of. */
export interface ApiServerOptions {
  /** apiextensions.k8s.io/v1 objects; a fault in one of them refuses the start. */
  readonly crds: readonly CustomResourceDefinition[];
  /** Asked about every write after schema validation. */
  readonly admission?: readonly AdmissionRule[];
  readonly clock: Clock;
  readonly random: Random;
  /** Changes of each resource that a watch or a paged list can still resume from; default 1000. */
  readonly watchHistory?: number;
  /** Events that a watch may leave unread before it is closed; default 1000. */
  readonly watchBuffer?: number;
  /** Default: in memory. */
  readonly storage?: Storage;
}

/** A running server. */
export interface ApiServer extends ApiHandler {
  /** The same server, with requests made in somebody's name (seen by admission and fault hooks). */
  as(user: UserInfo): ApiHandler;
  /** Like `handle`, with status code and warnings for a transport that has a place for them. */
  execute(request: ApiRequest, user?: UserInfo): Promise<Answer>;
  /** What is served, for discovery. */
  readonly registry: Registry;
  readonly counters: Counters;
  /** Assign interceptors here to make the server misbehave. */
  readonly faults: FaultHooks;
  /** Resolves when everything stored so far is durable, if the storage is. */
  settled(): Promise<void>;
  /** Forgets all history: watches and pages from earlier versions get 410. */
  compact(): void;
  /** Ends all watches and timers. Requests after it fail as lost connections do. */
  close(): void;
}

/**
 * A Kubernetes-like API server inside this process.
 *
 * @throws Error when a CRD uses what this server does not have, or breaks a rule of structural schemas.
 */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const { clock, random } = options;
  const registry = createRegistry([...builtinKinds(), ...loadCustomKinds(options.crds)]);
  const storage = options.storage ?? createMemoryStorage(options.watchHistory ?? 1000);
  const hub = createWatchHub(clock, () => storage.revision);
  const listeners: ChangeListener[] = [(change) => hub.publish(change)];
  const context: Context = {
    registry,
    storage,
    hub,
    clock,
    random,
    admission: options.admission ?? [],
    watchBuffer: options.watchBuffer ?? 1000,
    put(resource, draft) {
      const change = storage.put(resource, draft);
      for (const listener of listeners) listener(change);
      return change.object;
    },
    remove(key) {
      const change = storage.delete(key);
      for (const listener of listeners) listener(change);
      return change.object;
    },
  };
  const background = createBackground();
  listeners.push(createGarbageCollector(context, background), createNamespaceController(context, background));
  resumeBackground(context, listeners.slice(1));
  bootstrapNamespaces(context);
  const counters = createCounters();
  const faults: FaultHooks = {};
  const open = new Set<() => void>();
  let watches = 0;
  let closed = false;

  const route = (request: ApiRequest, user: UserInfo | undefined, stream: boolean): Routed => {
    if (closed) throw new TransportError("the API server is closed");
    return routeRequest(registry, request, user, stream);
  };

  const execute = async (request: ApiRequest, user?: UserInfo): Promise<Answer> => {
    const routed = route(request, user, false);
    const fault = faults.onRequest?.(faultRequest(routed));
    return withFault(fault, clock, routed.request.target, async () => {
      const answer = await runVerb(context, routed);
      counters.add({
        verb: routed.verb,
        resource: routed.request.target.kind.resource,
        subresource: routed.request.target.subresource,
      });
      return answer;
    });
  };

  const openWatch = async (request: ApiRequest, user?: UserInfo): Promise<AsyncIterable<unknown>> => {
    const routed = route(request, user, true);
    const { target, query } = routed.request;
    return withFault(faults.onRequest?.(faultRequest(routed)), clock, target, async () => {
      watches += 1;
      const info = {
        id: watches,
        resource: target.kind.resource,
        namespace: target.namespace,
        labelSelector: query.labelSelector,
        fieldSelector: query.fieldSelector,
        user,
      };
      const events = watch(context, routed.request, request.signal, createWatchRoute(faults, clock, info), open);
      counters.add({ verb: "watch", resource: target.kind.resource, subresource: undefined });
      return events;
    });
  };

  return {
    handle: async (request) => (await execute(request)).body,
    watch: (request) => openWatch(request),
    as: (user) => ({
      handle: async (request) => (await execute(request, user)).body,
      watch: (request) => openWatch(request, user),
    }),
    execute,
    registry,
    counters,
    faults,
    settled: async () => storage.settled?.(),
    compact: () => storage.compact(storage.revision),
    close() {
      closed = true;
      for (const end of [...open]) end();
      hub.close();
    },
  };
}

/** Shows what an earlier process stored to those who act on changes: it may have stopped before they had acted. */
function resumeBackground({ registry, storage }: Context, listeners: readonly ChangeListener[]): void {
  for (const { resource } of registry.resources()) {
    for (const object of storage.list(resource)) {
      const revision = Number(object.metadata.resourceVersion);
      for (const listener of listeners) listener({ type: "ADDED", resource, revision, object, previous: undefined });
    }
  }
}

interface Routed {
  readonly verb: Verb;
  readonly request: VerbRequest;
}

function routeRequest(registry: Registry, request: ApiRequest, user: UserInfo | undefined, stream: boolean): Routed {
  const query = request.query ?? {};
  const path = parseRoute(request.path);
  if (path === undefined) throw noSuchResource(`nothing is served at ${request.path}`);
  const target = findTarget(registry, path);
  const wantsWatch = stream || query.watch === "true" || query.watch === "1";
  const verb = verbOf(request.method, path, wantsWatch);
  if (verb === undefined) throw methodNotAllowed();
  if ((verb === "watch") !== stream) {
    throw badRequest(stream ? "only GET requests can be watched" : "a watch is a stream: open it as one");
  }
  const contentType = (request.contentType ?? "application/json").split(";")[0]?.trim() ?? "";
  return { verb, request: { target, query, body: request.body, contentType, user } };
}

function findTarget(registry: Registry, route: Route): Target {
  const kind = registry.byPlural(route.group, route.version, route.plural);
  if (kind === undefined) {
    const name = route.group === "" ? route.version : `${route.group}/${route.version}`;
    throw noSuchResource(`${route.plural} of ${name} is not served here; this server has ${namesOf(registry)}`);
  }
  const { namespace = "", name, subresource } = route;
  if (!kind.namespaced && namespace !== "") throw noSuchResource(`${kind.plural} are not namespaced`);
  if (kind.namespaced && namespace === "" && name !== undefined) {
    throw noSuchResource(`${kind.plural} are namespaced; use /namespaces/NAMESPACE/${kind.plural}/${name}`);
  }
  if (subresource !== undefined && !kind.subresources.has(subresource)) {
    throw noSuchResource(`${kind.plural} have no subresource ${subresource}`);
  }
  return { kind, namespace, name, subresource };
}

function namesOf(registry: Registry): string {
  return registry
    .resources()
    .map((kind) => kind.resource)
    .join(", ");
}

function faultRequest({ verb, request }: Routed): FaultRequest {
  const { target, body, user } = request;
  return {
    verb,
    resource: target.kind.resource,
    subresource: target.subresource,
    namespace: target.namespace,
    name: target.name,
    body,
    user,
  };
}

async function runVerb(context: Context, { verb, request }: Routed): Promise<Answer> {
  const { subresource, kind } = request.target;
  if (isReview(kind)) {
    if (verb !== "create") throw methodNotAllowed();
    return review(request);
  }
  switch (subresource) {
    case undefined:
      return runOnObject(context, verb, request);
    case "scale":
      return scale(context, verb, request);
    case "finalize":
      return finalize(context, verb, request);
    case "binding":
      if (verb !== "create") throw methodNotAllowed();
      return bind(context, request);
    default: // status
      if (verb !== "get" && verb !== "update" && verb !== "patch") throw methodNotAllowed();
      return runOnObject(context, verb, request);
  }
}

async function runOnObject(context: Context, verb: Verb, request: VerbRequest): Promise<Answer> {
  switch (verb) {
    case "create":
      return create(context, request);
    case "get":
      return get(context, request);
    case "list":
      return list(context, request);
    case "update":
      return update(context, request);
    case "patch":
      return patch(context, request);
    case "delete":
      return remove(context, request);
    case "deletecollection":
      return removeCollection(context, request);
    case "watch":
      throw badRequest("a watch is a stream: open it as one");
    default:
      return verb satisfies never;
  }
}
