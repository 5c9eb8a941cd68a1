import type { Run } from "#api/kinds/run.ts";
import { runs } from "#api/resources.ts";
import { createInformer, type Informer } from "#kube/informer.ts";
import type { Clock, Logger, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import type { Runs } from "./ports.ts";

interface Watched {
  readonly informer: Informer<Run>;
  readonly listeners: Set<(run: Run | undefined) => void>;
  readonly stop: () => void;
}

/** Runs by live reads, and by one narrow watch for each Run that somebody follows, however many they are. */
export function watchedRuns(deps: {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}): Runs {
  const watched = new Map<string, Watched>();

  function watch(namespace: string, name: string): Watched {
    const ending = new AbortController();
    const listeners = new Set<(run: Run | undefined) => void>();
    const fieldSelector = `metadata.name=${name}`;
    const informer = createInformer(deps.client, runs, { ...deps, namespace, fieldSelector });
    informer.onChange((_, run) => {
      for (const listener of [...listeners]) listener(run);
    });
    informer.start(ending.signal);
    // A Run that was deleted before the watch began is in no event.
    informer.whenSynced(ending.signal).then(
      () => {
        if (informer.size === 0) for (const listener of [...listeners]) listener(undefined);
      },
      () => {}, // stopped before
    );
    return { informer, listeners, stop: () => ending.abort() };
  }

  return {
    get: (namespace, name, signal) => deps.client.of(runs).get({ namespace, name }, signal),
    observe(namespace, name, onChange) {
      const key = `${namespace}/${name}`;
      const one = watched.get(key) ?? watch(namespace, name);
      watched.set(key, one);
      const listener = (run: Run | undefined) => onChange(run);
      one.listeners.add(listener);
      if (one.informer.synced()) listener(one.informer.get(key));
      return () => {
        one.listeners.delete(listener);
        if (one.listeners.size > 0 || watched.get(key) !== one) return;
        watched.delete(key);
        one.stop();
      };
    },
  };
}
