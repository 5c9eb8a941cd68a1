import { type Clock, sleep } from "#kube/ports.ts";
import { StatusError, TransportError } from "#kube/transport.ts";
import { forbiddenRequest, internalError, modified, tooManyRequests } from "./errors.ts";
import type { Verb } from "./routes.ts";
import type { Target, UserInfo } from "./types.ts";
import type { EventQueue, ServerEvent } from "./watcher.ts";

/** Misbehaviour on demand, for tests and the simulation: a real server does all of this, only more rarely. */

/** A request as an interceptor sees it. */
export interface FaultRequest {
  readonly verb: Verb;
  /** `plural.group`; `pods` for the core group. */
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly namespace: string;
  /** Undefined for collections. */
  readonly name: string | undefined;
  readonly body: unknown;
  readonly user: UserInfo | undefined;
}

/** What happens to one request instead of, before or after being carried out. */
export type Fault =
  /** 409: the object changed meanwhile. Nothing is written. */
  | { readonly kind: "conflict" }
  /** 429 with a Retry-After. Nothing is written. */
  | { readonly kind: "tooManyRequests"; readonly retryAfterMs: number }
  /** 403. Nothing is written. */
  | { readonly kind: "forbidden" }
  /** 500. Nothing is written. */
  | { readonly kind: "internal" }
  /** The connection breaks before the request arrives. Nothing is written. */
  | { readonly kind: "lost" }
  /** The request is carried out, then the connection breaks: the caller cannot know. */
  | { readonly kind: "timeoutAfterCommit" }
  /** The request is carried out after a while. */
  | { readonly kind: "delay"; readonly ms: number };

/** The watch that an event is about to be sent on. */
export interface WatchInfo {
  /** Counts the watches of this server, from 1. */
  readonly id: number;
  readonly resource: string;
  readonly namespace: string;
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
  readonly user: UserInfo | undefined;
}

/** What happens to one event; later events of the watch never overtake a delayed one. */
export interface WatchEventFault {
  readonly delayMs?: number;
  readonly drop?: boolean;
  readonly duplicate?: boolean;
  /** The connection breaks instead of delivering the event. */
  readonly disconnect?: boolean;
}

/** Interceptors; assign and remove them at any time. */
export interface FaultHooks {
  onRequest?: ((request: FaultRequest) => Fault | undefined) | undefined;
  onWatchEvent?: ((watch: WatchInfo, event: ServerEvent) => WatchEventFault | undefined) | undefined;
}

/** Sends an event of a watch on its way to the reader. */
export type WatchFault = (event: ServerEvent, queue: EventQueue) => void;

/** Runs a request under a fault. */
export async function withFault<T>(
  fault: Fault | undefined,
  clock: Clock,
  target: Target,
  run: () => Promise<T>,
): Promise<T> {
  if (fault === undefined) return run();
  switch (fault.kind) {
    case "conflict":
      throw modified(target.kind, target.name ?? "");
    case "tooManyRequests":
      throw tooManyRequests(fault.retryAfterMs);
    case "forbidden":
      throw forbiddenRequest(target.kind, target.name ?? "", "injected fault");
    case "internal":
      throw internalError("injected fault");
    case "lost":
      throw new TransportError("the connection was refused (injected fault)");
    case "timeoutAfterCommit":
      try {
        await run();
      } catch (error) {
        if (!(error instanceof StatusError)) throw error; // the caller does not even learn of a refusal
      }
      throw new TransportError("the connection broke before the answer arrived (injected fault)");
    case "delay":
      await sleep(clock, fault.ms);
      return run();
    default:
      return fault satisfies never;
  }
}

interface Held {
  readonly event: ServerEvent;
  readonly readyAt: number;
  readonly duplicate: boolean;
}

/** The way of one watch's events through {@link FaultHooks.onWatchEvent}; in order, whatever is delayed. */
export function createWatchRoute(hooks: FaultHooks, clock: Clock, info: WatchInfo): WatchFault {
  const held: Held[] = [];

  const release = (queue: EventQueue): void => {
    for (;;) {
      const head = held[0];
      if (head === undefined || queue.closed) return;
      const wait = head.readyAt - clock.now();
      if (wait > 0) {
        clock.after(wait, () => release(queue));
        return;
      }
      held.shift();
      queue.push(head.event);
      if (head.duplicate) queue.push(head.event);
    }
  };

  return (event, queue) => {
    const fault = hooks.onWatchEvent?.(info, event) ?? {};
    if (fault.drop) return;
    if (fault.disconnect) {
      queue.close(new TransportError("the watch broke (injected fault)"));
      return;
    }
    const waiting = held.length > 0;
    if (!waiting && (fault.delayMs ?? 0) <= 0) {
      queue.push(event);
      if (fault.duplicate) queue.push(event);
      return;
    }
    held.push({ event, readyAt: clock.now() + (fault.delayMs ?? 0), duplicate: fault.duplicate ?? false });
    if (!waiting) release(queue);
  };
}
