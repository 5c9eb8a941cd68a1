import type { Verb } from "./routes.ts";

/** What is counted apart. */
export interface Counted {
  readonly verb: Verb;
  readonly resource: string;
  readonly subresource: string | undefined;
}

/** Requests that were carried out (2xx), for tests that prove how few writes something takes. */
export interface Counters {
  /** How many so far. Without a subresource only requests to the object itself count. */
  count(verb: Verb, resource: string, subresource?: string): number;
  /** Sum of create, update, patch and delete, subresources included. */
  writes(resource: string): number;
  all(): readonly (Counted & { readonly count: number })[];
  reset(): void;
}

/** Counters that all begin at zero. */
export function createCounters(): Counters & { add(request: Counted): void } {
  const counts = new Map<string, Counted & { count: number }>();
  const keyOf = ({ verb, resource, subresource }: Counted): string => `${verb} ${resource} ${subresource ?? ""}`;
  return {
    add({ verb, resource, subresource }) {
      const key = keyOf({ verb, resource, subresource });
      const entry = counts.get(key);
      if (entry === undefined) counts.set(key, { verb, resource, subresource, count: 1 });
      else entry.count += 1;
    },
    count: (verb, resource, subresource) => counts.get(keyOf({ verb, resource, subresource }))?.count ?? 0,
    writes(resource) {
      let sum = 0;
      for (const entry of counts.values()) {
        if (entry.resource === resource && !["get", "list", "watch"].includes(entry.verb)) sum += entry.count;
      }
      return sum;
    },
    all: () => [...counts.values()],
    reset: () => counts.clear(),
  };
}
