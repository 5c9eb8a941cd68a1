import { setImmediate as turn } from "node:timers/promises";
import type { Random } from "#kube/ports.ts";

/** What a process throws that was killed at one of its calls. */
export class Killed extends Error {}

/**
 * Actors that work at the same time, one call of the world after the other, in an order that is drawn: each call through a
 * {@link guard}ed port waits for its turn. The same seed gives the same order.
 */
export class Interleaving {
  readonly #random: Random;
  readonly #waiting: (() => void)[] = [];
  /** Called after each turn, with what was called. */
  onTurn: (call: string) => Promise<void> | void = () => {};

  constructor(random: Random) {
    this.#random = random;
  }

  /**
   * A port whose calls wait for their turns.
   * @param deathRate how many of the calls kill whoever makes them, from 0 to 1
   */
  guard<T extends object>(port: T, deathRate = 0): T {
    return new Proxy(port, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          await new Promise<void>((resolve) => this.#waiting.push(resolve));
          if (this.#random.next() < deathRate) throw new Killed();
          const result: unknown = await Reflect.apply(member, target, args);
          await this.onTurn(String(key));
          if (this.#random.next() < deathRate) throw new Killed();
          return result;
        };
      },
    });
  }

  /** Lets the actors work until they are done; fails as the first of them does. */
  async run(actors: readonly (() => Promise<unknown>)[]): Promise<void> {
    let left = actors.length;
    let failure: { readonly error: unknown } | undefined;
    for (const actor of actors) {
      void actor()
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => left--);
    }
    while (left > 0 && failure === undefined) {
      // A chain of promises through the API server takes several turns.
      for (let n = 0; n < 6; n++) await turn();
      this.#waiting.splice(Math.floor(this.#random.next() * this.#waiting.length), 1)[0]?.();
    }
    if (failure !== undefined) throw failure.error;
  }
}
