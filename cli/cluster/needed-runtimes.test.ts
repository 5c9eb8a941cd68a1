import { expect, test } from "vitest";
import { neededRuntimes } from "./needed-runtimes.ts";

const workflows: Record<string, unknown> = {
  inner: { mid: { "runs-on": "python" }, again: { uses: "inner" } },
};

const cases: Record<string, { jobs: unknown; want: string[] }> = {
  "each job needs its Runtime": {
    jobs: { build: { "runs-on": "bash" }, test: { "runs-on": "node", needs: ["build"] } },
    want: ["build bash", "test node"],
  },
  "which Runtime an expression names shows only when the job runs": {
    jobs: { build: { "runs-on": "${{ inputs.where }}" } },
    want: [],
  },
  "a job with a condition may never run, nor what needs it": {
    jobs: {
      gpu: { "runs-on": "gpu", if: "${{ inputs.gpu }}" },
      after: { "runs-on": "gpu", needs: ["gpu"] },
      last: { "runs-on": "gpu", needs: ["after"] },
      build: { "runs-on": "bash" },
    },
    want: ["build bash"],
  },
  "the jobs of a Workflow that is used, which may use itself in a file that nobody has checked": {
    jobs: { call: { uses: "inner" } },
    want: ["call/mid python", "call/again/mid python", "call/again/again/mid python"],
  },
  "a Workflow that is not there is the server's to tell": { jobs: { call: { uses: "nope" } }, want: [] },
  "jobs that need each other, jobs that are none, and no jobs": {
    jobs: { a: { "runs-on": "x", needs: ["b"] }, b: { "runs-on": "x", needs: ["a"] }, c: 3, d: { "runs-on": 4 } },
    want: [],
  },
  "no jobs at all": { jobs: undefined, want: [] },
};

test.each(Object.entries(cases))("%s", async (_, { jobs, want }) => {
  const needed = await neededRuntimes(jobs, async (name) => workflows[name]);
  expect(needed.map(({ job, runtime }) => `${job} ${runtime}`)).toEqual(want);
});
