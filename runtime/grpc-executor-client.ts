/** Adapter: the executor's port over gRPC on a unix socket. */
import { resolve } from "node:path";
import { type CallOptions, Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { systemClock } from "#kube/system-clock.ts";
import {
  AttemptOverError,
  BootIdChangedError,
  type ExecuteRequest,
  type ExecutionEvent,
  type ExecutionId,
  ExecutionNotFoundError,
  type ExecutionSummary,
  type ExecutorClient,
  type ExecutorHealth,
  ExecutorUnavailableError,
  InvalidExecuteRequestError,
  type KillCause,
  StillRunningError,
} from "#runtime/executor-client.ts";
import { eventFromWire, killCauseToWire, requestToWire, summaryFromWire } from "#runtime/proto/convert.ts";
import type { Messages } from "#runtime/proto/gen/messages.gen.ts";
import { services } from "#runtime/proto/gen/schema.gen.ts";
import { definitionOf, type TypedMethod } from "#runtime/proto/grpc.ts";
import { acknowledgeEveryBytes, eventCost, messageBytes } from "#runtime/proto/limits.ts";
import { fromMicros } from "#runtime/proto/time.ts";

const { Execute, Watch, Acknowledge, List, Cancel, Forget, Health } = services.Runtime;

/** A local call takes about a millisecond; these are for an executor that hangs. */
const healthDeadlineMs = 2_000;
const callDeadlineMs = 10_000;
/** On top of the grace: the kernel may take long to tear down a large process. */
const killDeadlineMs = 20_000;

type Name = keyof Messages;

/** Finds its own way back when the executor restarts; each call in between fails at once as unavailable. */
export class GrpcExecutorClient implements ExecutorClient {
  readonly #client: Client;

  constructor(socketPath: string) {
    this.#client = new Client(`unix:${resolve(socketPath)}`, credentials.createInsecure(), {
      "grpc.max_receive_message_length": messageBytes,
      "grpc.max_send_message_length": messageBytes,
      "grpc.initial_reconnect_backoff_ms": 50,
      "grpc.min_reconnect_backoff_ms": 50,
      "grpc.max_reconnect_backoff_ms": 500,
      "grpc.enable_channelz": 0,
      "grpc-node.flow_control_window": 512 * 1024,
      "grpc.enable_retries": 0, // what to repeat is the agent's decision
      "grpc.use_local_subchannel_pool": 1, // close() then really ends this client's connection
    });
  }

  /** Ends the connection and all calls. */
  close(): void {
    this.#client.close();
  }

  async health(signal?: AbortSignal): Promise<ExecutorHealth> {
    const { bootTimeMicros, ...rest } = await this.#call(Health, {}, healthDeadlineMs, signal).catch(unavailable);
    return { ...rest, bootTime: fromMicros(bootTimeMicros) };
  }

  async execute(request: ExecuteRequest): Promise<{ readonly alreadyRunning: boolean }> {
    return await this.#call(Execute, requestToWire(request), callDeadlineMs).catch((error: ServiceError) => {
      switch (error.code) {
        case status.FAILED_PRECONDITION:
          throw new BootIdChangedError(request.bootId, { cause: error });
        case status.ALREADY_EXISTS:
          throw new AttemptOverError(request, { cause: error });
        case status.INVALID_ARGUMENT:
        case status.RESOURCE_EXHAUSTED: // the message is larger than either side takes
          throw new InvalidExecuteRequestError(error.details, { cause: error });
        default:
          return unavailable(error);
      }
    });
  }

  async watch(
    id: ExecutionId,
    fromSeq: number,
    onEvent: (event: ExecutionEvent) => void | Promise<void>,
    signal?: AbortSignal,
    taken?: () => number,
  ): Promise<void> {
    if (signal?.aborted) return;
    const definition = definitionOf(Watch);
    const call = this.#client.makeServerStreamRequest(
      Watch.path,
      definition.requestSerialize,
      definition.responseDeserialize,
      { ...idOf(id), fromSeq },
    );
    call.on("error", () => {}); // also comes after the loop below has been left, when nobody listens any more
    const abort = () => call.cancel();
    signal?.addEventListener("abort", abort, { once: true });
    const acknowledge = this.#acknowledger(id);
    let complete = false;
    let failed: { readonly error: unknown } | undefined;
    try {
      // Reading the stream only between events is what carries back-pressure to the program.
      for await (const message of call as AsyncIterable<Messages["WatchResponse"]>) {
        for (const wire of message.events) {
          if (signal?.aborted) return;
          const event = eventFromWire(wire);
          try {
            await onEvent(event);
          } catch (error) {
            failed = { error };
            throw error;
          }
          acknowledge(event, taken?.() ?? event.seq);
          complete ||= event.kind === "exited";
        }
      }
      if (!complete && !signal?.aborted)
        throw new ExecutorUnavailableError("the stream ended before the execution did");
    } catch (error) {
      if (failed !== undefined) throw failed.error;
      if (complete || signal?.aborted) return;
      if ((error as ServiceError).code === status.NOT_FOUND) throw new ExecutionNotFoundError(id, { cause: error });
      unavailable(error);
    } finally {
      signal?.removeEventListener("abort", abort);
      call.cancel();
    }
  }

  async list(): Promise<readonly ExecutionSummary[]> {
    const { executions } = await this.#call(List, {}, callDeadlineMs).catch(unavailable);
    return executions.map(summaryFromWire);
  }

  async cancel(id: ExecutionId, graceMs: number, cause: KillCause = "cancelled"): Promise<void> {
    const request = { ...idOf(id), graceMilliseconds: Math.ceil(graceMs), cause: killCauseToWire(cause) };
    await this.#call(Cancel, request, graceMs + killDeadlineMs).catch(unavailable);
  }

  async forget(id: ExecutionId): Promise<void> {
    await this.#call(Forget, idOf(id), callDeadlineMs).catch((error: ServiceError) => {
      if (error.code === status.FAILED_PRECONDITION) throw new StillRunningError(id, { cause: error });
      return unavailable(error);
    });
  }

  #call<Request extends Name, Response extends Name>(
    method: TypedMethod<Request, Response>,
    request: Messages[Request],
    deadlineMs: number,
    signal?: AbortSignal,
  ): Promise<Messages[Response]> {
    const definition = definitionOf(method);
    const options: CallOptions = { deadline: systemClock.now() + deadlineMs };
    return new Promise((done, reject) => {
      const call = this.#client.makeUnaryRequest(
        method.path,
        definition.requestSerialize,
        definition.responseDeserialize,
        request,
        new Metadata(),
        options,
        (error, response) => {
          signal?.removeEventListener("abort", abort);
          if (error !== null) reject(error);
          else if (response === undefined) reject(new ExecutorUnavailableError("the executor answered nothing"));
          else done(response);
        },
      );
      const abort = () => call.cancel();
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** Tells the executor now and then what it need not keep. A lost acknowledgement is made good by the next one. */
  #acknowledger(id: ExecutionId): (event: ExecutionEvent, taken: number) => void {
    let cost = 0;
    return (event, taken) => {
      cost += eventCost(event);
      if (cost < acknowledgeEveryBytes) return;
      cost = 0;
      this.#call(Acknowledge, { ...idOf(id), seq: taken }, callDeadlineMs).catch(() => {});
    };
  }
}

function idOf({ runUid, attempt }: ExecutionId): { readonly runUid: string; readonly attempt: number } {
  return { runUid, attempt };
}

/** Everything that is not an answer of the contract. */
function unavailable(error: unknown): never {
  if (error instanceof ExecutorUnavailableError) throw error;
  const details = (error as ServiceError).details ?? (error instanceof Error ? error.message : String(error));
  throw new ExecutorUnavailableError(`the executor gave no answer: ${details}`, { cause: error });
}
