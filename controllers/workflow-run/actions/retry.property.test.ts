/** Retries of any graph, ended anyhow at any point. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import type { Run } from "#api/kinds/run.ts";
import type { JobStatus, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { labels } from "#api/labels.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import { timestamp } from "#api/time.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { ActionWorld, namespace, step } from "#test/support/action-world.ts";
import { compileWorkflow } from "#workflows/compile-workflow.ts";
import { planOf } from "#workflows/matrix.ts";
import { retrySet } from "#workflows/retry-set.ts";

type Jobs = Record<string, JobSpec>;
const name = "ci";

/** A graph of at most five jobs, each of which may need those before it. */
const graphs: fc.Arbitrary<Jobs> = fc
  .array(
    fc.record({
      needs: fc.array(fc.nat(4), { maxLength: 2 }),
      instances: fc.option(fc.integer({ min: 1, max: 2 }), { freq: 3 }),
      failFast: fc.boolean(),
      steps: fc.integer({ min: 1, max: 2 }),
      cleansUp: fc.boolean(),
      if: fc.constantFrom(undefined, undefined, undefined, "always()", "failure()"),
    }),
    { minLength: 2, maxLength: 5 },
  )
  .map((shapes) =>
    Object.fromEntries(
      shapes.map(({ needs, instances, failFast, steps, cleansUp, if: condition }, index): [string, JobSpec] => {
        const before = [...new Set(needs.filter((need) => need < index))].map((need) => `j${need}`);
        const matrix = { n: Array.from({ length: instances ?? 0 }, (_, n) => n) };
        return [
          `j${index}`,
          {
            "runs-on": "bash",
            steps: ["one", "two"]
              .slice(0, steps)
              .map((each, at) => ({ ...step(each), ...(at > 0 && cleansUp && { if: "always()" }) })),
            ...(before.length > 0 && { needs: before }),
            ...(instances !== null && { strategy: { matrix, "fail-fast": failFast } }),
            ...(condition !== undefined && { if: condition }),
          },
        ];
      }),
    ),
  );

/** What happens until the run has ended: a child Run ends, or somebody acts. */
type Move =
  | { readonly which: number; readonly as: "Succeeded" | "Failed" | "Cancelled" }
  | { readonly act: "Stop" | "Terminate" | "Suspend" | "Resume" };
const ending = fc.record({
  which: fc.nat(9),
  as: fc.constantFrom("Succeeded" as const, "Succeeded" as const, "Failed" as const),
});
const acting = fc.record({ act: fc.constantFrom("Stop", "Terminate", "Suspend", "Resume") as fc.Arbitrary<"Stop"> });
const movesOfAttempt: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.oneof({ weight: 5, arbitrary: ending }, { weight: 1, arbitrary: acting }),
  { maxLength: 8 },
);

/** A run, and everything that is seen of it. */
class Story {
  readonly world = new ActionWorld();
  readonly seen: WorkflowRunStatus[] = [];
  readonly #limit = new AbortController();

  async begin(jobs: Jobs): Promise<void> {
    await this.world.start();
    const events = await this.world.plane.client.of(workflowRuns).watch({ namespace, signal: this.#limit.signal });
    void (async () => {
      for await (const event of events)
        if (event.type === "MODIFIED" && event.object.status !== undefined) this.seen.push(event.object.status);
    })().catch(() => {});
    await this.world.run(name, jobs);
  }

  end(): void {
    this.#limit.abort();
    this.world.stop();
  }

  status = () => this.world.status(name);

  async children(): Promise<Run[]> {
    const { items } = await this.world.plane.client.of(runs).list({ namespace });
    const key = (run: Run) => keyOf(run);
    return items.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  }

  async move(move: Move): Promise<void> {
    if ("act" in move) {
      await this.world.ask(name, move.act);
      return;
    }
    const open = (await this.children()).filter(({ status }) => !isTerminal(status?.phase));
    const child = open[move.which % Math.max(1, open.length)];
    if (child !== undefined) await this.finish(child, move.as);
  }

  async finish(child: Run, as: "Succeeded" | "Failed" | "Cancelled"): Promise<void> {
    const now = timestamp(this.world.plane.clock.now());
    const placed = { assignedPod: "p", assignedPodUID: "u", assignmentEpoch: 1 };
    const claimed = { ...placed, attempt: 1, startTime: now };
    const phase = child.spec.termination === undefined ? as : "Cancelled";
    const why =
      phase === "Succeeded" ? {} : { reason: phase === "Failed" ? "ExitNonZero" : "Cancelled", message: "no" };
    let object = child;
    for (const status of [
      { phase: "Scheduled", ...placed },
      { phase: "Running", ...claimed },
      { phase, ...claimed, ...why, completionTime: now },
    ] as const)
      object = await this.world.plane.client.of(runs).update({ ...object, status }, "status");
    // A run with many jobs gathers what happens for a moment.
    await this.world.plane.elapse(100);
  }

  /** Everything that is at work ends, until the run has. */
  async finishAll(as: "Succeeded" | "Failed"): Promise<void> {
    for (let round = 0; !hasEnded((await this.status()).phase); round++) {
      if (round > 60) throw new Error(`it does not end: ${JSON.stringify(await this.status())}`);
      if ((await this.status()).suspended && (await this.status()).phase === "Suspended")
        await this.world.ask(name, "Resume");
      await this.move({ which: 0, as });
    }
  }
}

/** Which attempt of which step a child is. */
const keyOf = ({ metadata }: Run): string =>
  [labels.job, labels.step, labels.attempt].map((label) => metadata.labels?.[label]).join(" ");

/** No child twice, and none at work that is not the step at work of the current attempt of its job. */
async function checkChildren(story: Story): Promise<void> {
  const children = await story.children();
  const keys = children.map(keyOf);
  expect(new Set(keys).size, keys.join()).toBe(keys.length);
  const { jobs = {} } = await story.status();
  for (const child of children.filter(({ status }) => !isTerminal(status?.phase))) {
    const job = jobs[child.metadata.labels?.[labels.job] ?? ""];
    const current = job?.steps?.find(({ runName }) => runName === child.metadata.name);
    expect(["Running", "Stopping"], `${keyOf(child)} of ${JSON.stringify(job)}`).toContain(current?.phase);
    expect(String(job?.attempt)).toBe(child.metadata.labels?.[labels.attempt]);
  }
}

const ranks = ["Waiting", "Queued", "Running", "Stopping"];
const rank = ({ phase }: JobStatus): number => (hasEnded(phase) ? ranks.length : ranks.indexOf(phase));

/** Within an attempt of the run no job goes back, and what has ended stays as it is; attempts never fall. */
function checkStory(seen: readonly WorkflowRunStatus[]): void {
  for (const [index, after] of seen.entries()) {
    const before = seen[index - 1];
    if (before?.jobs === undefined) continue;
    expect(after.attempt).toBeGreaterThanOrEqual(before.attempt ?? 1);
    for (const [id, old] of Object.entries(before.jobs)) {
      const next = after.jobs?.[id];
      if (next?.attempt !== undefined) expect(next.attempt, id).toBeGreaterThanOrEqual(old.attempt ?? 1);
      if (after.attempt !== before.attempt) continue;
      expect(next, id).toBeDefined();
      if (next === undefined) continue;
      expect(rank(next), `${id} from ${old.phase} to ${next.phase}`).toBeGreaterThanOrEqual(rank(old));
      if (hasEnded(old.phase)) expect(JSON.stringify(next)).toBe(JSON.stringify(old));
    }
  }
}

/** Retries a run that has ended, and compares with what was to be expected; whether there was anything to do. */
async function retry(story: Story, spec: Jobs): Promise<boolean> {
  const compiled = compileWorkflow({ jobs: spec }, { path: "spec" });
  if (!compiled.ok) throw new Error("the graph does not compile");
  const { plan } = compiled;
  const before = await story.status();
  const jobs = before.jobs ?? {};
  const choice = { restartSuccessful: false };
  const chosen = retrySet(plan, jobs, choice);
  expect(retrySet(plan, structuredClone(jobs), choice)).toEqual(chosen);
  if (!chosen.ok) throw new Error(chosen.message);
  const seen = story.seen.length;
  const answer = await story.world.ask(name, "Retry");
  if (before.phase === "Succeeded" || chosen.set.size === 0) {
    expect(answer).toMatchObject({ phase: "Failed", reason: "NothingToRetry" });
    expect(JSON.stringify((await story.status()).jobs)).toBe(JSON.stringify(jobs));
    return false;
  }
  expect(answer).toMatchObject({ phase: "Succeeded" });
  const opened = story.seen.slice(seen).find(({ attempt }) => attempt === (before.attempt ?? 1) + 1);
  for (const field of ["completionTime", "reason", "message", "shutdown", "suspended"])
    expect(opened).not.toHaveProperty(field);
  expect(
    Object.keys(opened?.jobs ?? {})
      .filter((id) => plan.jobs.has(id))
      .sort(),
  ).toEqual([...plan.jobs.keys()].sort());
  for (const [id, old] of Object.entries(jobs)) {
    const rerun = chosen.set.get(planOf(plan, id)?.id ?? "");
    const isKept = rerun === undefined || (rerun !== "all" && rerun.some((each) => each.from === id && !each.runs));
    const next = opened?.jobs?.[id];
    if (isKept) expect(JSON.stringify(next), id).toBe(JSON.stringify(old));
    else if (next !== undefined) expect(hasEnded(next.phase), `${id} ${next.phase}`).toBe(false);
  }
  return true;
}

/** Plays the moves of each attempt, retries, and lets the last attempt end well. */
async function play(story: Story, spec: Jobs, attempts: readonly (readonly Move[])[]): Promise<void> {
  await story.begin(spec);
  for (const moves of attempts) {
    for (const move of moves) {
      await story.move(move);
      await checkChildren(story);
    }
    await story.finishAll("Failed");
    await checkChildren(story);
    // A run that was stopped has failed, also when every job had ended well: there is nothing to run again then.
    if (!(await retry(story, spec))) return;
    await checkChildren(story);
  }
  await story.finishAll("Succeeded");
  await checkChildren(story);
  expect((await story.status()).phase).toBe("Succeeded");
}

test("whatever became of a run: a Retry keeps what is kept, uses no number twice, leaves nothing running, and it ends well at last", async () => {
  await fc.assert(
    fc.asyncProperty(graphs, fc.array(movesOfAttempt, { minLength: 1, maxLength: 3 }), async (spec, attempts) => {
      const story = new Story();
      try {
        await play(story, spec, attempts);
      } finally {
        story.end();
      }
      checkStory(story.seen);
    }),
    { numRuns: 8 },
  );
}, 60_000);
