/** Adapter: the executions of one executor as a gRPC service on a unix socket. */
import { chmodSync, lstatSync, unlinkSync } from "node:fs";
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import type { Clock, Logger } from "#kube/ports.ts";
import type { Executions } from "#runtime/executor/executions.ts";
import { deliver, type Reader } from "#runtime/executor/watch.ts";
import {
  AttemptOverError,
  BootIdChangedError,
  ExecutionNotFoundError,
  type ExecutorHealth,
  ExecutorUnavailableError,
  InvalidExecuteRequestError,
  StillRunningError,
} from "#runtime/executor-client.ts";
import { eventToWire, killCauseFromWire, requestFromWire, summaryToWire } from "#runtime/proto/convert.ts";
import type * as Wire from "#runtime/proto/gen/messages.gen.ts";
import { services } from "#runtime/proto/gen/schema.gen.ts";
import { definitionOf } from "#runtime/proto/grpc.ts";
import { messageBytes } from "#runtime/proto/limits.ts";
import { toMicros } from "#runtime/proto/time.ts";

/** The path of a unix socket must fit into `sockaddr_un`, its ending zero byte included. */
const longestSocketPath = 107;

export interface ExecutorServer {
  /** Lets running calls end for at most `ms`, then breaks them; the socket is gone afterwards. */
  close(ms: number): Promise<void>;
}

export interface ServerOptions {
  readonly socketPath: string;
  readonly executions: Executions;
  readonly health: () => ExecutorHealth;
  readonly log: Logger;
  readonly clock: Clock;
}

/**
 * Serves until closed. A socket that an earlier server left is replaced: there is one executor for each path.
 *
 * @throws when the path is too long, is taken by something that is no socket, or cannot be bound.
 */
export async function serve(options: ServerOptions): Promise<ExecutorServer> {
  const { socketPath } = options;
  clearPath(socketPath);
  const server = new Server({
    "grpc.max_receive_message_length": messageBytes,
    "grpc.max_send_message_length": messageBytes,
    "grpc.enable_channelz": 0,
  });
  addRuntime(server, options);
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) =>
      error === null
        ? resolve()
        : reject(new Error(`cannot serve on ${socketPath}: ${error.message}`, { cause: error })),
    );
  });
  chmodSync(socketPath, 0o660); // the agent runs under the same group, whatever our umask is
  return {
    async close(ms) {
      const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      const cancel = options.clock.after(ms, () => server.forceShutdown());
      await closed;
      cancel();
    },
  };
}

function clearPath(path: string): void {
  if (Buffer.byteLength(path) > longestSocketPath) {
    throw new Error(`the socket path ${path} is longer than ${longestSocketPath} bytes; use a shorter directory`);
  }
  const present = lstatSync(path, { throwIfNoEntry: false });
  if (present === undefined) return;
  if (!present.isSocket()) throw new Error(`${path} exists and is no socket; remove it or choose another path`);
  unlinkSync(path);
}

function addRuntime(server: Server, { executions, health, log, clock }: ServerOptions): void {
  const { Execute, Watch, Acknowledge, List, Cancel, Forget, Health } = services.Runtime;
  const definitions = {
    Execute: definitionOf(Execute),
    Watch: definitionOf(Watch),
    Acknowledge: definitionOf(Acknowledge),
    List: definitionOf(List),
    Cancel: definitionOf(Cancel),
    Forget: definitionOf(Forget),
    Health: definitionOf(Health),
  };
  server.addService(definitions, {
    Execute: unary(log, (request: Wire.ExecuteRequest) => executions.execute(requestFromWire(request))),
    Watch: (call: ServerWritableStream<Wire.WatchRequest, Wire.WatchResponse>) =>
      void watch(call, executions, log, clock),
    Acknowledge: unary(log, (request: Wire.AcknowledgeRequest) => {
      executions.acknowledge(request, request.seq);
      return {};
    }),
    List: unary(log, () => ({ executions: executions.list().map(summaryToWire) })),
    Cancel: unary(log, async (request: Wire.CancelRequest) => {
      await executions.cancel(request, request.graceMilliseconds, killCauseFromWire(request.cause));
      return {};
    }),
    Forget: unary(log, (request: Wire.ForgetRequest) => {
      executions.forget(request);
      return {};
    }),
    Health: unary(log, (): Wire.HealthResponse => {
      const { bootTime, ...rest } = health();
      return { ...rest, bootTimeMicros: toMicros(bootTime) };
    }),
  });
}

function unary<Request, Response>(log: Logger, handle: (request: Request) => Response | Promise<Response>) {
  return async (call: ServerUnaryCall<Request, Response>, answer: sendUnaryData<Response>) => {
    try {
      answer(null, await handle(call.request));
    } catch (error) {
      answer(statusOf(error, log));
    }
  };
}

async function watch(
  call: ServerWritableStream<Wire.WatchRequest, Wire.WatchResponse>,
  executions: Executions,
  log: Logger,
  clock: Clock,
): Promise<void> {
  const gone = new AbortController();
  let drained = Promise.withResolvers<void>();
  const open = () => {
    drained.resolve();
    drained = Promise.withResolvers();
  };
  call.on("drain", open);
  for (const end of ["cancelled", "close", "error"]) {
    call.on(end, () => {
      gone.abort(end);
      open();
    });
  }
  const reader: Reader = {
    write: (events) => call.write({ events: events.map(eventToWire) }),
    drained: () => (gone.signal.aborted ? Promise.resolve() : drained.promise),
    gone: gone.signal,
  };
  try {
    const id = call.request;
    const outcome = await deliver(executions.log(id), id.fromSeq, reader, () => executions.knows(id), clock);
    if (outcome === "overtaken") {
      // With grpc-js an error event is what ends a stream with a status; destroy() would send none.
      call.emit("error", Object.assign(new Error("another watch acknowledged later events"), { code: status.ABORTED }));
    } else if (outcome === "gone" && !gone.signal.aborted) {
      throw new ExecutionNotFoundError(id);
    } else {
      call.end();
    }
  } catch (error) {
    call.emit("error", statusOf(error, log));
  }
}

function statusOf(error: unknown, log: Logger): Error & { code: status } {
  const failure = error instanceof Error ? error : new Error(String(error));
  const code = codeOf(failure);
  if (code === status.INTERNAL) log.error("a call failed", { error: failure });
  return Object.assign(new Error(failure.message), { code });
}

function codeOf(error: Error): status {
  if (error instanceof BootIdChangedError || error instanceof StillRunningError) return status.FAILED_PRECONDITION;
  if (error instanceof AttemptOverError) return status.ALREADY_EXISTS;
  if (error instanceof InvalidExecuteRequestError) return status.INVALID_ARGUMENT;
  if (error instanceof ExecutionNotFoundError) return status.NOT_FOUND;
  if (error instanceof ExecutorUnavailableError) return status.UNAVAILABLE;
  return status.INTERNAL;
}
