import type { Run, RunStatus } from "#api/kinds/run.ts";
import { keyOf } from "#api/meta.ts";
import { runs, runtimes } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import { withStatus } from "#api/status.ts";
import { lookAgainMs } from "#controllers/behind.ts";
import type { ControllerDeps, Informers } from "#controllers/informers.ts";
import { hasEnded } from "#controllers/pods.ts";
import { runTrouble, tellTrouble } from "#controllers/trouble.ts";
import { pods } from "#kube/builtin.ts";
import { type Controller, createController } from "#kube/controller.ts";
import { drive } from "#kube/drive.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { after, done, type Outcome } from "#kube/outcome.ts";
import { settle } from "#machines/lib/settle.ts";
import { restoreRun, runMachine, runStatus } from "#machines/run.ts";
import { nextDeadline, observe, type Seen } from "./observe.ts";

/** What is seen, and whether it is more than the caches know. */
interface Gathered extends Seen {
  readonly behind: boolean;
}

/** Takes Runs away from Pods that are lost, and ends those whose Runtime is gone. */
export function createRunRecovery(deps: ControllerDeps, informers: Informers): Controller {
  const { client, clock } = deps;
  const runClient = client.of(runs);
  const controller = createController({ name: "run-recovery", reconcile, workers: 8, ...deps });
  /** When each attempt that is at work was first seen so, by the UID of its Run. */
  const sightings = new Map<string, { readonly attempt: number | undefined; readonly since: number }>();

  informers.runs.onChange((old, next) => {
    const run = next ?? old;
    if (run === undefined) return;
    noteSighting(run, next?.status);
    // One that has ended gives up its place in the queue, where it may else wait for a deadline of hours.
    if (
      (next !== undefined && isAtRisk(next)) ||
      (old !== undefined && isAtRisk(old) && old.spec.timeout !== undefined)
    ) {
      controller.enqueue(keyOf(run));
    }
  });
  informers.pods.onChange((old, next) => {
    const pod = next ?? old;
    if (pod === undefined) return;
    for (const run of informers.runs.byIndex("pod", keyOf(pod))) controller.enqueue(keyOf(run));
  });
  informers.runtimes.onChange((old, next) => {
    // Rare, so a walk over all Runs is cheaper than an index that every Run would pay for.
    if (next !== undefined || old === undefined) return;
    const { name, namespace } = old.metadata;
    for (const run of informers.runs.values()) {
      const isOurs = run.spec.runtime === name && run.metadata.namespace === namespace;
      if (isOurs && isAtRisk(run)) controller.enqueue(keyOf(run));
    }
  });

  /** @param status as it is now; undefined when the Run is gone */
  function noteSighting({ metadata }: Run, status: RunStatus | undefined): void {
    const uid = metadata.uid ?? "";
    if (status?.phase !== "Running") sightings.delete(uid);
    else if (sightings.get(uid)?.attempt !== status.attempt) {
      sightings.set(uid, { attempt: status.attempt, since: clock.now() });
    }
  }

  function sightingOf({ metadata, status }: Run): number | undefined {
    const sighting = sightings.get(metadata.uid ?? "");
    return sighting !== undefined && sighting.attempt === status?.attempt ? sighting.since : undefined;
  }

  function isAtRisk(run: Run): boolean {
    const { phase, assignmentEpoch = 0 } = run.status ?? {};
    return !isTerminal(phase) && (phase !== "Pending" || assignmentEpoch > 0) && phase !== undefined;
  }

  function reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    return drive<Gathered, RunStatus, never>(
      {
        gather: () => gather(key),
        step: (seen, now) => {
          const settled = settle({
            machine: runMachine,
            snapshot: restoreRun(seen.run.status),
            observe: (snapshot) => observe(seen, runStatus(snapshot), now),
          });
          return { changed: settled.changed, status: runStatus(settled.snapshot), effects: [] };
        },
        persist: async ({ run }, status) => {
          const written = await runClient.update(withStatus(run, status), "status");
          informers.runs.noteWrite(written, run.metadata.resourceVersion);
          tellTrouble(deps.recorder, runs, run, runTrouble(run.status, status));
        },
        run: async () => {},
        nextWake: (status, seen, now) => {
          const deadline = nextDeadline(seen, status) ?? Number.POSITIVE_INFINITY;
          const again = seen.behind && !isTerminal(status.phase) ? now + lookAgainMs : Number.POSITIVE_INFINITY;
          const due = Math.min(deadline, again);
          return due === Number.POSITIVE_INFINITY ? done : after(due - now, "a lost Pod, a silent agent, a late watch");
        },
      },
      clock,
      signal,
    );
  }

  /** What the caches show; when that would take a Run away from its Pod, what the API server says now. */
  async function gather(key: string): Promise<Gathered | undefined> {
    const run = informers.runs.get(key);
    if (run === undefined) return undefined;
    const inNamespace = (name: string | undefined) => `${run.metadata.namespace}/${name}`;
    const cached: Gathered = {
      behind: false,
      run,
      pod: informers.pods.get(inNamespace(run.status?.assignedPod)),
      runtimeExists: informers.runtimes.get(inNamespace(run.spec.runtime)) !== undefined,
      runningSince: sightingOf(run),
    };
    if (observe(cached, run.status ?? { phase: "Pending" }, clock.now()) === undefined) return cached;
    const namespace = run.metadata.namespace;
    const [live, pod, runtime] = await Promise.all([
      orNothing(runClient.get({ namespace, name: run.metadata.name })),
      run.status?.assignedPod === undefined
        ? undefined
        : orNothing(client.of(pods).get({ namespace, name: run.status.assignedPod })),
      orNothing(client.of(runtimes).get({ namespace, name: run.spec.runtime })),
    ]);
    if (live === undefined || live.metadata.uid !== run.metadata.uid) return undefined;
    // Another assignment than the one that was judged: its own event brings us back.
    if (live.status?.assignmentEpoch !== run.status?.assignmentEpoch) return undefined;
    // A Pod that has ended says why, and may be gone a moment later: its last word counts.
    const lastSeen = cached.pod !== undefined && hasEnded(cached.pod) ? cached.pod : undefined;
    return {
      behind: true,
      run: live,
      pod: pod ?? lastSeen,
      runtimeExists: runtime !== undefined,
      runningSince: sightingOf(live),
    };
  }

  return controller;
}
