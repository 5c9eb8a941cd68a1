import { expect, test } from "vitest";
import type { WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { compileWorkflow } from "#workflows/compile-workflow.ts";
import { deadlines } from "./deadlines.ts";
import type { Seen } from "./seen.ts";

const now = Date.parse("2026-01-01T00:00:10Z");
const jobs = { a: { "runs-on": "bash", steps: [{ name: "one", run: "true" }] } };
const seen: Seen = {
  run: { metadata: { name: "ci", namespace: "default" }, spec: { jobs } },
  source: { kind: "plan", compiled: compileWorkflow({ jobs }), inputs: {} },
  runs: new Map(),
  workspaces: new Map(),
  children: new Map(),
  waitingBelow: () => [],
  inbox: { pending: [], told: [] },
  honoursDeprecated: true,
  runtimeOf: () => undefined,
  refused: new Map(),
  sightings: new Map(),
};
const queued = (nextAttemptTime: string): WorkflowRunStatus => ({
  phase: "Suspended",
  jobs: { a: { phase: "Queued", nextAttemptTime } },
});

test("the next attempt of a job is waited for; one that is due and has no place is no reason to look again and again", () => {
  expect(deadlines(seen, queued("2026-01-01T00:00:12Z"), now)).toEqual([now + 2000]);
  expect(deadlines(seen, queued("2026-01-01T00:00:09Z"), now)).toEqual([]);
  expect(deadlines(seen, queued("2026-01-01T00:00:10Z"), now)).toEqual([]);
});
