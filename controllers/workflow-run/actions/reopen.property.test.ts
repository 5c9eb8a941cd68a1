/** A matrix under one set of values after the other: who is kept, who runs, and that no past is lost. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type JobStatus, maxJobAttempts } from "#api/kinds/workflow-run.ts";
import { compileWorkflow } from "#workflows/compile-workflow.ts";
import { retrySet } from "#workflows/retry-set.ts";
import { reopenJobs } from "./reopen.ts";

const compiled = compileWorkflow(
  {
    inputs: { list: {} },
    jobs: {
      m: {
        "runs-on": "bash",
        strategy: { matrix: { n: "${{ fromJSON(inputs.list) }}" } },
        steps: [{ name: "s", run: "true" }],
      },
    },
  },
  { path: "spec" },
);

const letters = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e"), { minLength: 1, maxLength: 5 });
/** The values of a matrix, how its instances end (one that is skipped never runs), and how often they repeat themselves before. */
const round = fc.record({
  list: letters,
  ends: fc.array(fc.constantFrom("Succeeded", "Failed", "Skipped"), { minLength: 5, maxLength: 5 }),
  repeats: fc.nat(2),
});

/** What has happened to each value so far: `number phase`, in order. */
type Past = Map<unknown, string[]>;

test("instances are told by their values through any row of Retries", () => {
  if (!compiled.ok) throw new Error("it does not compile");
  fc.assert(
    fc.property(fc.array(round, { minLength: 2, maxLength: 6 }), ([first, ...rounds]) => {
      if (first === undefined) return;
      const used = new Set<string>();
      const past: Past = new Map();
      let jobs: Record<string, JobStatus> = { m: { phase: "Running", instances: first.list.length } };
      for (const [index, n] of first.list.entries()) jobs[`m.${index}`] = { phase: "Waiting", matrix: { n } };
      run(jobs, first.ends, first.repeats, used, past);
      for (const [index, { list, ends, repeats }] of rounds.entries()) {
        const values = { inputs: { list: JSON.stringify(list) }, run: {} };
        const choice = { restartSuccessful: false, override: { changed: new Set(["list"]), values } };
        const chosen = retrySet(compiled.plan, jobs, choice);
        if (!chosen.ok) throw new Error(chosen.message);
        const before = structuredClone(jobs);
        jobs = reopenJobs(jobs, chosen.set, index + 2);
        expect(Object.keys(jobs).sort()).toEqual(["m", ...list.map((_, at) => `m.${at}`)].sort());
        expect(list.map((_, at) => jobs[`m.${at}`]?.matrix?.n)).toEqual(list);
        for (const status of instancesOf(jobs)) {
          const old = instancesOf(before).find(({ matrix }) => matrix?.n === status.matrix?.n);
          if (old?.phase === "Succeeded") expect(JSON.stringify(status)).toBe(JSON.stringify(old));
          else expect(status).toMatchObject({ phase: "Waiting", opened: { runAttempt: index + 2 } });
        }
        run(jobs, ends, repeats, used, past);
        expect(remembered(jobs)).toEqual(new Map([...past].filter(([, told]) => told.length > 0)));
      }
    }),
  );
});

const instancesOf = ({ m: _, ...instances }: Record<string, JobStatus>): JobStatus[] => Object.values(instances);

/** Everything that waits runs, repeats itself so many times, and ends. */
function run(
  jobs: Record<string, JobStatus>,
  ends: readonly ("Succeeded" | "Failed" | "Skipped")[],
  repeats: number,
  used: Set<string>,
  past: Past,
): void {
  for (const [index, [id, job]] of Object.entries(jobs).entries()) {
    if (job.phase !== "Waiting") continue;
    const told = past.get(job.matrix?.n) ?? [];
    past.set(job.matrix?.n, told);
    const phase = ends[index % ends.length] ?? "Failed";
    if (phase === "Skipped") {
      jobs[id] = { ...job, phase };
      if (job.attempt !== undefined) told.push(`${job.attempt} ${phase}`);
      continue;
    }
    let { attempt = 1, attempts = [] } = job;
    for (let n = 0; n <= repeats; n++) {
      // Names of children have it in them.
      expect(used).not.toContain(`${id} ${attempt}`);
      used.add(`${id} ${attempt}`);
      told.push(`${attempt} ${n === repeats ? phase : "Failed"}`);
      if (n === repeats) continue;
      attempts = [...attempts, { number: attempt, phase: "Failed" as const }].slice(-maxJobAttempts);
      attempt++;
    }
    jobs[id] = { ...job, phase, attempt, ...(attempts.length > 0 && { attempts }) };
    past.set(job.matrix?.n, told.slice(-maxJobAttempts));
  }
  const all = instancesOf(jobs);
  jobs.m = {
    ...(jobs.m ?? { phase: "Waiting" }),
    phase: all.every((job) => job.phase === "Succeeded") ? "Succeeded" : "Failed",
  };
}

/** The pasts that a status tells: of its instances, and of those that have left. */
function remembered({ m, ...instances }: Record<string, JobStatus>): Past {
  const tell = (attempts: JobStatus["attempts"] = []) => attempts.map(({ number, phase }) => `${number} ${phase}`);
  const pasts = [
    ...Object.values(instances).map(({ matrix, attempts, attempt, phase }) => {
      const last = attempt === undefined ? [] : [`${attempt} ${phase}`];
      return [matrix?.n, [...tell(attempts), ...last].slice(-maxJobAttempts)] as const;
    }),
    ...(m?.former ?? []).map(({ matrix, attempts }) => [matrix.n, tell(attempts)] as const),
  ];
  return new Map(pasts.filter(([, told]) => told.length > 0));
}
