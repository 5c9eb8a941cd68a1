import { timestamp } from "#api/time.ts";
import { type Lease, leases } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { limitTransport } from "#kube/limit-transport.ts";
import { type Clock, type Logger, type Random, sleep } from "#kube/ports.ts";
import type { Client, ResourceClient } from "#kube/resource.ts";
import { isAlreadyExists, isConflict, isNotFound } from "#kube/transport.ts";

export interface LeaseOptions {
  readonly client: Client;
  readonly namespace: string;
  readonly name: string;
  /** Of this process, never used by another: best with a random part. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** How long others wait after the last renewal that they saw; default 15,000 ms, whole seconds. */
  readonly leaseDurationMs?: number;
  /** How long a holder goes on without a successful renewal; default 10,000 ms. */
  readonly renewDeadlineMs?: number;
  /** Time between two tries; default 2,000 ms, spread up to 1.2 times. */
  readonly retryPeriodMs?: number;
}

/** The right to act, while it lasts. */
export interface Leadership {
  /** Aborted when the work has to end: the lease is lost, or the process shuts down. */
  readonly signal: AbortSignal;
  /** Whether the lease is held now, by the clock: also right when a timer is late because the process was stopped. */
  held(): boolean;
  /**
   * The client for everything that only the holder may do: its calls fail at once after a loss. At a shutdown they
   * work until `lead` has ended, so that what was begun can be completed.
   */
  readonly client: Client;
}

export interface LeaseElection {
  /**
   * Waits for the lease, calls `lead`, renews until `lead` ends, the lease is lost or `signal` is aborted; waits for
   * `lead` to end and gives the lease back. Returns whether `lead` was called; to stand again, call it again.
   */
  run(lead: (leadership: Leadership) => Promise<void>, signal: AbortSignal): Promise<boolean>;
  /** Who holds the lease, as far as this process has seen. */
  holder(): string | undefined;
}

/** Pauses are up to this many times the retry period. */
const JITTER = 1.2;

/**
 * Leader election on a Lease. Only the local monotonic clock counts, never a time that another process wrote: a
 * holder stops `renewDeadline` after it *sent* its last successful renewal, another takes over `leaseDuration` after
 * it *saw* the last change. Since the one is shorter than the other, two never hold the lease at the same time, also
 * when clocks are set differently or are changed.
 */
export function createLeaseElection(options: LeaseOptions): LeaseElection {
  const { clock, random, logger, identity, namespace, name } = options;
  const leaseDurationMs = options.leaseDurationMs ?? 15_000;
  const renewDeadlineMs = options.renewDeadlineMs ?? 10_000;
  const retryPeriodMs = options.retryPeriodMs ?? 2_000;
  checkTimes(leaseDurationMs, renewDeadlineMs, retryPeriodMs);
  const title = `${namespace}/${name}`;

  // A call that hangs must leave time for another one.
  const transport = limitTransport(options.client.transport, { timeoutMs: renewDeadlineMs / 2 });
  const api: ResourceClient<Lease> = createClient(transport).of(leases);

  /** The Lease as last seen, and when it was last seen to have changed. */
  let seen: { lease: Lease; at: number } | undefined;

  function note(lease: Lease): void {
    if (seen?.lease.metadata.resourceVersion === lease.metadata.resourceVersion) return;
    // Somebody's release or our own write is a change too; a holder's renewal is what this is about.
    seen = { lease, at: clock.monotonic() };
  }

  const holderOf = (lease: Lease): string => lease.spec?.holderIdentity ?? "";

  function claim(from: Lease | undefined): Lease {
    const now = timestamp(clock.now());
    const old = from?.spec ?? {};
    const continues = from !== undefined && holderOf(from) === identity;
    return {
      metadata: from?.metadata ?? { namespace, name },
      spec: {
        ...old,
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
        acquireTime: (continues ? old.acquireTime : undefined) ?? now,
        renewTime: now,
        leaseTransitions: (old.leaseTransitions ?? 0) + (continues || from === undefined ? 0 : 1),
      },
    };
  }

  /**
   * Tries once to take or renew the lease; returns when the successful request was sent, undefined when it is not to
   * be had now. A holder does not take back what it no longer has: somebody may have held it in between.
   */
  async function tryOnce(signal: AbortSignal, holding: boolean): Promise<number | "lost" | undefined> {
    // A renewal writes on what it wrote last; anything else looks first.
    if (seen === undefined || holderOf(seen.lease) !== identity) {
      try {
        note(await api.get({ namespace, name }, signal));
      } catch (error) {
        if (!isNotFound(error)) throw error;
        return holding ? "lost" : write(undefined);
      }
    }
    const lease = seen?.lease;
    if (lease === undefined) return undefined;
    if (holderOf(lease) === identity) return write(lease);
    if (holding) return "lost";
    return holderOf(lease) === "" || isExpired(lease) ? write(lease) : undefined;
  }

  function isExpired(lease: Lease): boolean {
    // Their duration may be longer than ours, after a change of settings.
    const theirs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
    return clock.monotonic() >= (seen?.at ?? 0) + Math.max(theirs, leaseDurationMs);
  }

  async function write(from: Lease | undefined): Promise<number | undefined> {
    const sentAt = clock.monotonic();
    try {
      note(from === undefined ? await api.create(claim(from)) : await api.update(claim(from)));
      return sentAt;
    } catch (error) {
      // What is stored is not what we thought, or we do not know (the answer was lost): look before the next try. What
      // others hold stays noted, with the time since when it is unchanged.
      if (seen !== undefined && holderOf(seen.lease) === identity) seen = undefined;
      if (isConflict(error) || isAlreadyExists(error) || isNotFound(error)) return undefined;
      throw error;
    }
  }

  async function attempt(signal: AbortSignal, holding: boolean): Promise<number | "lost" | undefined> {
    try {
      return await tryOnce(signal, holding);
    } catch (error) {
      if (!signal.aborted) logger.warn("cannot take or renew the lease", { lease: title, error });
      return undefined;
    }
  }

  const pause = (signal: AbortSignal): Promise<void> =>
    sleep(clock, retryPeriodMs * (1 + random.next() * (JITTER - 1)), signal);

  async function acquire(signal: AbortSignal): Promise<number | undefined> {
    while (!signal.aborted) {
      const sentAt = await attempt(signal, false);
      if (typeof sentAt === "number") return sentAt;
      await pause(signal);
    }
    return undefined;
  }

  async function release(): Promise<void> {
    try {
      const lease =
        seen !== undefined && holderOf(seen.lease) === identity ? seen.lease : await api.get({ namespace, name });
      seen = undefined;
      if (holderOf(lease) !== identity) return;
      // The version makes sure that we do not take it from a successor.
      const spec = { ...lease.spec, holderIdentity: "", renewTime: timestamp(clock.now()), leaseDurationSeconds: 1 };
      await api.update({ ...lease, spec });
    } catch (error) {
      logger.info("could not give the lease back; it expires by itself", { lease: title, error });
    }
  }

  return {
    holder: () => (seen === undefined ? undefined : holderOf(seen.lease) || undefined),

    async run(lead, signal) {
      let renewedAt = await acquire(signal);
      if (renewedAt === undefined) return false;
      if (signal.aborted) {
        await release();
        return false;
      }
      logger.info("leading", { lease: title, identity });

      const lost = new AbortController();
      /** Aborted when the work has to end. */
      const ending = new AbortController();
      /** Aborted when there is nothing left to renew for. */
      const over = new AbortController();
      const lose = (why: string) => {
        lost.abort(new Error(`lease ${title} lost: ${why}`));
        ending.abort(lost.signal.reason);
        over.abort();
      };
      const stop = () => ending.abort(new Error("shutting down", { cause: signal.reason }));
      signal.addEventListener("abort", stop, { once: true });

      const until = () => (renewedAt ?? 0) + renewDeadlineMs;
      let cancelDeadline = () => {};
      const armDeadline = () => {
        cancelDeadline();
        const late = () => lose(`no renewal within ${renewDeadlineMs} ms`);
        cancelDeadline = clock.after(Math.max(0, until() - clock.monotonic()), late);
      };
      const renew = async () => {
        for (await pause(over.signal); !over.signal.aborted; await pause(over.signal)) {
          const sentAt = await attempt(over.signal, true);
          if (over.signal.aborted) return;
          if (sentAt === "lost") lose("another process took it, or somebody deleted it");
          else if (sentAt !== undefined) {
            renewedAt = sentAt;
            armDeadline();
          }
        }
      };

      armDeadline();
      const renewing = renew();
      const held = () => !lost.signal.aborted && clock.monotonic() < until();
      const transport = limitTransport(options.client.transport, { signal: lost.signal, permitted: held });
      try {
        await lead({ signal: ending.signal, held, client: createClient(transport) });
      } finally {
        const wasLost = lost.signal.aborted;
        if (wasLost) logger.error("leadership lost", { lease: title, identity, error: lost.signal.reason });
        cancelDeadline();
        over.abort();
        await renewing;
        lost.abort(new Error(`the work under lease ${title} has ended`));
        signal.removeEventListener("abort", stop);
        if (!wasLost) await release();
      }
      return true;
    },
  };
}

function checkTimes(leaseDurationMs: number, renewDeadlineMs: number, retryPeriodMs: number): void {
  if (leaseDurationMs <= renewDeadlineMs) {
    throw new Error(
      `leaseDuration (${leaseDurationMs} ms) must be longer than renewDeadline (${renewDeadlineMs} ms): ` +
        "otherwise another process may take over while this one still acts",
    );
  }
  if (renewDeadlineMs <= JITTER * retryPeriodMs) {
    throw new Error(
      `renewDeadline (${renewDeadlineMs} ms) must be longer than ${JITTER} x retryPeriod (${retryPeriodMs} ms): ` +
        "otherwise one slow renewal loses the lease",
    );
  }
}
