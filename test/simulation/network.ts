import { memoryTransport } from "#kube/memory.ts";
import { type Clock, sleep } from "#kube/ports.ts";
import { type ApiRequest, type Transport, TransportError } from "#kube/transport.ts";
import type { ApiServer, FaultRequest, WatchEventFault, WatchInfo } from "#local/apiserver/index.ts";
import type { Faults } from "./faults.ts";
import type { Life } from "./life.ts";

/** How the line to a process is broken: requests fail at once, or nobody answers. */
interface Cut {
  readonly until: number;
  readonly refuses: boolean;
}

/** Deadline of a call that names none (`kube/call-limit.ts`). */
const defaultTimeoutMs = 30_000;

/** The lines between the processes and the API server, which can be slow or cut. */
export class Network {
  readonly #api: ApiServer;
  readonly #clock: Clock;
  readonly #faults: Faults;
  readonly #cuts = new Map<string, Cut>();
  /** What processes of each kind have asked of the API server, as rights: `controllers patch runs.kruntimes.io/status`. */
  readonly asked = new Set<string>();

  constructor(api: ApiServer, clock: Clock, faults: Faults) {
    this.#api = api;
    this.#clock = clock;
    this.#faults = faults;
    api.faults.onRequest = (request) => {
      this.#note(request);
      return faults.onRequest(request);
    };
    api.faults.onWatchEvent = (watch, event) => this.#onWatchEvent(watch, event.type);
  }

  #note({ user, verb, resource, subresource }: FaultRequest): void {
    const [kind = ""] = (user?.username ?? "").split(/[ #]/);
    this.asked.add(`${kind} ${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`}`);
  }

  /** Cuts the line of a process, or (without a name) of all, for so long. */
  cut(ms: number, refuses: boolean, process = ""): void {
    this.#cuts.set(process, { until: this.#clock.monotonic() + ms, refuses });
  }

  /** All lines work again. */
  restore(): void {
    this.#cuts.clear();
  }

  /** The transport of a process. Everything that is on its way to the server when the process ends is lost. */
  connect(life: Life): Transport {
    const transport = memoryTransport(this.#api.as({ username: life.name }), this.#clock);
    life.onEnd(() => void transport.close());
    return {
      request: <T>(request: ApiRequest) =>
        life.call(`api.${request.method}`, async () => {
          await this.#travel(life, request);
          const answer = await transport.request<T>(request);
          await this.#pause(life);
          return answer;
        }),
      stream: <T>(request: ApiRequest) =>
        life.call("api.WATCH", async () => {
          await this.#travel(life, request);
          return guarded(life, await transport.stream<T>(request));
        }),
      close: () => transport.close(),
    };
  }

  async #travel(life: Life, request: ApiRequest): Promise<void> {
    await this.#pause(life);
    const cut = this.#cutOf(life.name);
    if (cut !== undefined) {
      if (!cut.refuses) await sleep(life.clock, request.timeoutMs ?? defaultTimeoutMs, request.signal);
      throw new TransportError(`${request.method} ${request.path}: no connection`);
    }
    if (request.signal?.aborted) throw new TransportError(`${request.method} ${request.path}: aborted`);
  }

  async #pause(life: Life): Promise<void> {
    const ms = this.#faults.requestLatency();
    if (ms > 0) await sleep(life.clock, ms);
  }

  /** What was sent into a cut line arrives when it is mended. */
  #onWatchEvent(watch: WatchInfo, type: string): WatchEventFault | undefined {
    const fault = this.#faults.onWatchEvent(watch, type);
    const cut = this.#cutOf(watch.user?.username ?? "");
    if (watch.user === undefined || cut === undefined || fault?.drop || fault?.disconnect) return fault;
    if (cut.refuses) return { disconnect: true };
    return { ...fault, delayMs: (fault?.delayMs ?? 0) + cut.until - this.#clock.monotonic() };
  }

  #cutOf(process: string): Cut | undefined {
    const now = this.#clock.monotonic();
    return [this.#cuts.get(process), this.#cuts.get("")].find((cut) => cut !== undefined && cut.until > now);
  }
}

/** Events reach a process only while it lives. */
function guarded<T>(life: Life, source: AsyncIterable<T>): AsyncIterableIterator<T> {
  const iterator = source[Symbol.asyncIterator]();
  return {
    next: () => life.call("api.event", () => iterator.next()),
    return: async () => iterator.return?.() ?? { done: true, value: undefined },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
