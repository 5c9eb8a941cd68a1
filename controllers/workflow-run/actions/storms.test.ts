/** Many actions, at any moment, with watches that are late, lose events or break: nothing is lost, nothing goes backwards, all ends. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import type { RunStatus } from "#api/kinds/run.ts";
import { runs, workflowActions, workflowRuns } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { createInformer } from "#kube/informer.ts";
import type { Random } from "#kube/ports.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { ActionWorld, job, namespace } from "#test/support/action-world.ts";

let world: ActionWorld;
let watching: AbortController;
beforeEach(async () => {
  watching = new AbortController();
  world = await new ActionWorld().start();
});
afterEach(() => {
  watching.abort();
  world.stop();
});

const ranks: Readonly<Record<string, number>> = { Waiting: 0, Queued: 1, Running: 2, Suspended: 2, Stopping: 3 };
const rankOf = (phase: string) => (hasEnded(phase as never) ? 4 : (ranks[phase] ?? 0));

/** Every step back that a run, a job of it, or a step was ever seen to take within one attempt. */
function stepsBack(): string[] {
  const found: string[] = [];
  const last = new Map<string, readonly [attempt: number, rank: number, phase: string]>();
  const see = (what: string, attempt: number, phase: string) => {
    const [before, rank, was] = last.get(what) ?? [attempt, -1, ""];
    const isBack = attempt < before || (attempt === before && (rank === 4 ? phase !== was : rankOf(phase) < rank));
    if (isBack) found.push(`${what} ${was} -> ${phase}`);
    last.set(what, [attempt, rankOf(phase), phase]);
  };
  const deps = { clock: world.plane.clock, random: seededRandom(9), logger: silentLogger };
  const informer = createInformer(world.plane.client, workflowRuns, deps);
  informer.onChange((_, next) => {
    const { metadata, status } = next ?? {};
    if (metadata === undefined || status === undefined) return;
    see(metadata.name, status.attempt ?? 1, status.phase === "Pending" ? "Waiting" : status.phase);
    for (const [id, each] of Object.entries(status.jobs ?? {})) {
      see(`${metadata.name} ${id}`, each.attempt ?? 1, each.phase);
      for (const step of each.steps ?? []) see(`${metadata.name} ${id}/${step.name} ${each.attempt}`, 1, step.phase);
    }
  });
  informer.start(watching.signal);
  return found;
}

/** Ends child Runs that have not ended, as they were asked to or well; says how many. */
async function end(count: number, random: Random, more: () => Partial<RunStatus> = () => ({})): Promise<number> {
  const { items } = await world.plane.client.of(runs).list({ namespace });
  const open = items.filter(({ status }) => status?.completionTime === undefined);
  const chosen = Array.from({ length: count }, () => open.splice(Math.floor(random.next() * open.length), 1)).flat();
  for (const run of chosen) {
    const completionTime = timestamp(world.plane.clock.now());
    const phase = run.spec.termination === undefined ? "Succeeded" : "Cancelled";
    const status: RunStatus = { phase, attempt: 1, startTime: completionTime, completionTime, ...more() };
    await world.plane.client.of(runs).update({ ...run, status }, "status");
  }
  return chosen.length;
}

test("200 jobs that end at random under 50 Suspends and Resumes: each is answered, no job is lost, and the run succeeds", async () => {
  const random = seededRandom(2942);
  const back = stepsBack();
  const fan = job(["one"], {
    needs: ["a"],
    strategy: { matrix: { n: Array.from({ length: 200 }, (_, index) => index) } },
  });
  await world.run("ci", { a: job(["one"]), m: fan, z: job(["one"], { needs: ["m"] }) }, { parallelism: 40 });
  await world.finish("ci", "a", "one");
  let suspensions = 0;
  for (let asked = 1; asked <= 50; asked++) {
    // The last one lets it go on.
    await world.create("ci", asked < 50 && random.next() < 0.5 ? "Suspend" : "Resume");
    await end(Math.floor(random.next() * 9), random);
    if (random.next() < 0.7) await world.plane.elapse(Math.floor(random.next() * 300));
    if ((await world.status("ci")).phase === "Suspended") suspensions++;
  }
  expect(suspensions).toBeGreaterThan(10);
  for (let round = 0; round < 100 && !hasEnded((await world.status("ci")).phase); round++) {
    await end(40, random);
    await world.plane.elapse(200);
  }
  const { items } = await world.plane.client.of(workflowActions).list({ namespace });
  expect(items).toHaveLength(50);
  expect(items.filter(({ status }) => status?.phase !== "Succeeded" && status?.reason !== "NothingToResume")).toEqual(
    [],
  );
  const { phase, jobs = {}, appliedActions } = await world.status("ci");
  expect(phase).toBe("Succeeded");
  expect(Object.values(jobs).filter((each) => each.phase === "Succeeded")).toHaveLength(203);
  expect(appliedActions).toBeUndefined();
  expect((await world.plane.client.of(runs).list({ namespace })).items).toHaveLength(202);
  expect(back).toEqual([]);
}, 60_000);

const flips: Record<string, JobSpec> = (() => {
  const flip = (needs: readonly string[], condition?: string): JobSpec => ({
    "runs-on": "bash",
    retry: { attempts: 3, backoff: "1s" },
    outputs: { side: "${{ steps.flip.outputs.side }}" },
    steps: [{ name: "flip", run: "true" }],
    ...(needs.length > 0 && { needs: [...needs] }),
    ...(condition !== undefined && { if: condition }),
  });
  return {
    first: flip([]),
    heads: flip(["first"], "needs.first.outputs.side == 'heads'"),
    tails: flip(["first"], "needs.first.outputs.side == 'tails'"),
    again: flip(["tails"], "needs.tails.outputs.side == 'tails'"),
    end: job(["one"], { needs: ["heads"] }),
  };
})();

test.each(Array.from({ length: 10 }, (_, index) => index + 1))(
  "a graph of conditions and retries that is stopped at a random moment (%i) has failed within a minute",
  async (seed) => {
    const random = seededRandom(seed);
    const back = stepsBack();
    await world.run("ci", flips);
    const flip = (): Partial<RunStatus> =>
      random.next() < 0.4
        ? { phase: "Failed", reason: "ExitNonZero", message: "no", exitCode: 1 }
        : { outputs: { side: random.next() < 0.5 ? "heads" : "tails" } };
    const moments = Math.floor(random.next() * 8);
    for (let moment = 0; moment < moments && !hasEnded((await world.status("ci")).phase); moment++) {
      await world.plane.elapse(Math.floor(random.next() * 1500));
      if (hasEnded((await world.status("ci")).phase) || moment === moments - 1) break;
      await end(1, random, flip);
    }
    const wasOver = hasEnded((await world.status("ci")).phase);
    const answer = await world.ask("ci", random.next() < 0.5 ? "Stop" : "Terminate");
    if (wasOver) {
      expect(answer).toMatchObject({ phase: "Failed", reason: "WorkflowCompleted" });
      return;
    }
    const asked = world.plane.clock.now();
    await world.plane.until(async () => {
      await end(1, random);
      return hasEnded((await world.status("ci")).phase);
    }, 60_000);
    expect(world.plane.clock.now() - asked).toBeLessThan(60_000);
    const { phase, reason, jobs = {} } = await world.status("ci");
    expect([phase, ["Stopped", "Terminated"].includes(reason ?? "")]).toEqual(["Failed", true]);
    expect(Object.values(jobs).filter((each) => !hasEnded(each.phase))).toEqual([]);
    expect(back).toEqual([]);
  },
);

test("a stopped run ends although no watch tells anything any more: caches are filled anew in the end", async () => {
  await world.run("ci", { a: job(["one"]), b: job(["two"], { needs: ["a"] }) });
  await world.ask("ci", "Stop");
  world.plane.api.faults.onWatchEvent = () => ({ drop: true });
  await end(1, seededRandom(1));
  await world.plane.until(async () => hasEnded((await world.status("ci")).phase), 900_000);
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Stopped" });
});

test("an action that no watch tells of is applied all the same", async () => {
  await world.run("ci", { a: job(["one"]) });
  world.plane.api.faults.onWatchEvent = () => ({ drop: true });
  const { metadata } = await world.create("ci", "Suspend");
  await world.plane.until(async () => (await world.action(metadata.name)).status?.phase === "Succeeded", 900_000);
  expect(await world.status("ci")).toMatchObject({ phase: "Suspended" });
});

test.each(Array.from({ length: 5 }, (_, index) => index + 1))(
  "with watches that are late by up to 5 s nothing goes backwards, and no Run is made twice (%i)",
  async (seed) => {
    const random = seededRandom(13_986 + seed);
    const back = stepsBack();
    world.plane.api.faults.onWatchEvent = () => ({ delayMs: Math.floor(random.next() * 5000) });
    const jobs = {
      a: job(["one", "two"]),
      b: job(["one"], { strategy: { matrix: { n: [1, 2, 3] } } }),
      c: job(["one"], { needs: ["a", "b"] }),
    };
    await world.run("ci", jobs, { parallelism: 3 });
    for (let round = 0; round < 400 && !hasEnded((await world.status("ci")).phase); round++) {
      const dice = random.next();
      if (dice < 0.1) await world.create("ci", "Suspend");
      else if (dice < 0.3) await world.create("ci", "Resume");
      else await end(1, random);
      await world.plane.elapse(Math.floor(random.next() * 3000));
    }
    expect(await world.status("ci")).toMatchObject({ phase: "Succeeded" });
    expect((await world.plane.client.of(runs).list({ namespace })).items).toHaveLength(6);
    expect(back).toEqual([]);
  },
);
