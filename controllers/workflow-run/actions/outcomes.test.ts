/** What each action makes of each run, as a table: how a run ends is part of what people build on, and must not change unseen. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import type { WorkflowActionSpec } from "#api/kinds/workflow-action.ts";
import type { WorkflowRunSpec } from "#api/kinds/workflow-run.ts";
import { ActionWorld, job } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

type Parameters = Partial<Pick<WorkflowActionSpec, "resume" | "stop">>;

const gate: JobSpec = { "runs-on": "bash", steps: [{ name: "approve", suspend: {} }] };
const shapes: Record<string, { jobs: Record<string, JobSpec>; spec?: Partial<WorkflowRunSpec> }> = {
  chain: { jobs: { a: job(["one"]), b: job(["two"], { needs: ["a"] }) } },
  "clean-up": { jobs: { a: job(["one"]), x: job(["clean"], { needs: ["a"], if: "always()" }) } },
  gate: { jobs: { a: gate, b: job(["two"], { needs: ["a"] }) } },
  "start suspended": { jobs: { a: job(["one"]) }, spec: { suspend: true } },
  matrix: { jobs: { a: job(["one"], { strategy: { matrix: { n: [1, 2] }, "max-parallel": 1 } }) } },
  "failure allowed": { jobs: { a: job(["one"], { "continue-on-error": true }) } },
};

async function shown(): Promise<string> {
  const { phase, reason, shutdown, suspended, jobs = {} } = await world.status("ci");
  const marks = [shutdown && `shutdown ${shutdown}`, suspended && "suspended"].filter(Boolean).join(", ");
  const parts = Object.entries(jobs).map(([id, each]) => [id, each.phase, each.reason].filter(Boolean).join(" "));
  return `${[phase, reason].filter(Boolean).join(" ")}${marks === "" ? "" : ` (${marks})`}: ${parts.join(", ")}`;
}

/** Ends everything that runs: what was asked to end is cancelled, the rest succeeds. */
async function endAll(): Promise<void> {
  for (let round = 0; round < 8; round++) {
    for (const [id, each] of Object.entries((await world.status("ci")).jobs ?? {})) {
      for (const { name, phase, runName } of each.steps ?? []) {
        if (runName === undefined || (phase !== "Running" && phase !== "Stopping")) continue;
        await world.finish("ci", id, name, phase === "Stopping" ? "Cancelled" : "Succeeded");
      }
    }
  }
}

const selected = { nodeFieldSelector: "type=Gate" };
/** Shape, action, its answer; the run after it, and when everything has ended. A matrix is at work while an instance is. */
const table: readonly (readonly [
  shape: string,
  action: string,
  answer: string,
  then: string,
  end: string,
  parameters?: Parameters,
])[] = [
  [
    "chain",
    "Suspend",
    "ActionApplied",
    "Suspended (suspended): a Running, b Waiting",
    "Suspended (suspended): a Succeeded, b Waiting",
  ],
  ["chain", "Resume", "NothingToResume", "Running: a Running, b Waiting", "Succeeded: a Succeeded, b Succeeded"],
  [
    "chain",
    "Resume",
    "NothingToResume",
    "Running: a Running, b Waiting",
    "Succeeded: a Succeeded, b Succeeded",
    { resume: selected },
  ],
  [
    "chain",
    "Stop",
    "ActionApplied",
    "Stopping Stopped (shutdown Stop): a Stopping Stopped, b Skipped Stopped",
    "Failed Stopped (shutdown Stop): a Cancelled Stopped, b Skipped Stopped",
  ],
  [
    "chain",
    "Stop",
    "NothingToStop",
    "Running: a Running, b Waiting",
    "Succeeded: a Succeeded, b Succeeded",
    { stop: selected },
  ],
  [
    "chain",
    "Terminate",
    "ActionApplied",
    "Stopping Terminated (shutdown Terminate): a Stopping Terminated, b Skipped Terminated",
    "Failed Terminated (shutdown Terminate): a Cancelled Terminated, b Skipped Terminated",
  ],
  [
    "clean-up",
    "Stop",
    "ActionApplied",
    "Stopping Stopped (shutdown Stop): a Stopping Stopped, x Waiting",
    "Failed Stopped (shutdown Stop): a Cancelled Stopped, x Succeeded",
  ],
  [
    "clean-up",
    "Terminate",
    "ActionApplied",
    "Stopping Terminated (shutdown Terminate): a Stopping Terminated, x Skipped Terminated",
    "Failed Terminated (shutdown Terminate): a Cancelled Terminated, x Skipped Terminated",
  ],
  [
    "gate",
    "Suspend",
    "ActionApplied",
    "Suspended (suspended): a Suspended WaitsForResume, b Waiting",
    "Suspended (suspended): a Suspended WaitsForResume, b Waiting",
  ],
  ["gate", "Resume", "ActionApplied", "Running: a Succeeded, b Running", "Succeeded: a Succeeded, b Succeeded"],
  [
    "gate",
    "Resume",
    "ActionApplied",
    "Running: a Succeeded, b Running",
    "Succeeded: a Succeeded, b Succeeded",
    { resume: selected },
  ],
  [
    "gate",
    "Stop",
    "ActionApplied",
    "Failed JobFailed: a Failed StepFailed, b Skipped NeedsNotSucceeded",
    "Failed JobFailed: a Failed StepFailed, b Skipped NeedsNotSucceeded",
    { stop: selected },
  ],
  [
    "gate",
    "Stop",
    "ActionApplied",
    "Failed Stopped (shutdown Stop): a Cancelled Stopped, b Skipped Stopped",
    "Failed Stopped (shutdown Stop): a Cancelled Stopped, b Skipped Stopped",
  ],
  [
    "gate",
    "Terminate",
    "ActionApplied",
    "Failed Terminated (shutdown Terminate): a Cancelled Terminated, b Skipped Terminated",
    "Failed Terminated (shutdown Terminate): a Cancelled Terminated, b Skipped Terminated",
  ],
  [
    "start suspended",
    "Suspend",
    "ActionApplied",
    "Suspended (suspended): a Waiting",
    "Suspended (suspended): a Waiting",
  ],
  ["start suspended", "Resume", "ActionApplied", "Running: a Running", "Succeeded: a Succeeded"],
  [
    "start suspended",
    "Stop",
    "ActionApplied",
    "Failed Stopped (shutdown Stop, suspended): a Skipped Stopped",
    "Failed Stopped (shutdown Stop, suspended): a Skipped Stopped",
  ],
  [
    "start suspended",
    "Terminate",
    "ActionApplied",
    "Failed Terminated (shutdown Terminate, suspended): a Skipped Terminated",
    "Failed Terminated (shutdown Terminate, suspended): a Skipped Terminated",
  ],
  [
    "matrix",
    "Suspend",
    "ActionApplied",
    "Suspended (suspended): a Running, a.0 Running, a.1 Queued",
    "Suspended (suspended): a Running, a.0 Succeeded, a.1 Queued",
  ],
  [
    "matrix",
    "Stop",
    "ActionApplied",
    "Stopping Stopped (shutdown Stop): a Running, a.0 Stopping Stopped, a.1 Skipped Stopped",
    "Failed Stopped (shutdown Stop): a Cancelled Stopped, a.0 Cancelled Stopped, a.1 Skipped Stopped",
  ],
  [
    "matrix",
    "Terminate",
    "ActionApplied",
    "Stopping Terminated (shutdown Terminate): a Running, a.0 Stopping Terminated, a.1 Skipped Terminated",
    "Failed Terminated (shutdown Terminate): a Cancelled Terminated, a.0 Cancelled Terminated, a.1 Skipped Terminated",
  ],
  [
    "failure allowed",
    "Stop",
    "ActionApplied",
    "Stopping Stopped (shutdown Stop): a Stopping Stopped",
    "Failed Stopped (shutdown Stop): a Cancelled Stopped",
  ],
];

const rows = table.map(([shape, action, answer, then, end, parameters]) => ({
  what: `${shape}: ${action}${parameters === undefined ? "" : " of gates"} is ${answer}`,
  ...{ shape, action, answer, then, end, parameters },
}));

test.each(rows)("as in the table: $what", async ({ shape, action, answer, then, end, parameters = {} }) => {
  const { jobs = {}, spec = {} } = shapes[shape] ?? {};
  await world.run("ci", jobs, spec);
  expect((await world.ask("ci", action, parameters)).reason).toBe(answer);
  expect(await shown()).toBe(then);
  await endAll();
  expect(await shown()).toBe(end);
});

const ways: Record<string, () => Promise<void>> = {
  "has succeeded": async () => {
    await world.run("ci", { a: job(["one"]) });
    await world.finish("ci", "a", "one");
  },
  "has failed by a job": async () => {
    await world.run("ci", { a: job(["one"]) });
    await world.finish("ci", "a", "one", "Failed");
  },
  "was stopped": async () => {
    await world.run("ci", { a: job(["one"]) });
    await world.ask("ci", "Stop");
    await world.finish("ci", "a", "one", "Cancelled");
  },
  "was out of time": async () => {
    await world.run("ci", { a: gate }, { timeout: "10s" });
    await world.plane.elapse(10_000);
  },
};
const asked: readonly (readonly [string, Parameters])[] = [
  ["Suspend", {}],
  ["Resume", {}],
  ["Resume", { resume: selected }],
  ["Stop", {}],
  ["Stop", { stop: selected }],
  ["Terminate", {}],
];

test.each(Object.entries(ways))("no action but Retry touches a run that %s", async (_, end) => {
  await end();
  const before = JSON.stringify(await world.target("ci"));
  for (const [action, parameters] of asked) {
    expect(await world.ask("ci", action, parameters)).toMatchObject({ phase: "Failed", reason: "WorkflowCompleted" });
    expect(JSON.stringify(await world.target("ci")), action).toBe(before);
  }
});

test("that it was stopped, out of time, or failed by a job, are three different reasons; Events call none of them a success", async () => {
  const reasonOf = async (name: string) => (await world.status(name)).reason;
  await world.run("stopped", { a: gate });
  await world.ask("stopped", "Stop");
  await world.run("late", { a: gate }, { timeout: "10s" });
  await world.plane.elapse(10_000);
  await world.run("failed", { a: job(["one"]) });
  await world.finish("failed", "a", "one", "Failed");
  expect([await reasonOf("stopped"), await reasonOf("late"), await reasonOf("failed")]).toEqual([
    "Stopped",
    "TimedOut",
    "JobFailed",
  ]);
  const before = new Set(["WorkflowActionApplied", "WaitsForResume"]);
  const ends = world.said.filter(({ kind, reason }) => kind === "WorkflowRun" && !before.has(reason));
  expect(ends.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
    "Normal Stopped",
    "Warning TimedOut",
    "Warning JobFailed",
  ]);
});
