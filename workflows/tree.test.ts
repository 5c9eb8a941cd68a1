import { expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { WorkflowRun, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { timestamp } from "#api/time.ts";
import { renderRun, renderTree, type TreeOptions } from "./tree.ts";

const start = Date.parse("2026-11-30T12:00:00Z");
const at = (seconds: number) => timestamp(start + seconds * 1000);

const artifact = (name: string, type: ArtifactRef["type"], sizeBytes: number): ArtifactRef => ({
  name,
  driver: "Filesystem",
  type,
  location: { filesystem: { path: `runs/u/artifacts/${name}` } },
  sizeBytes,
  digest: `sha256:${"0123456789abcdef".repeat(4)}`,
});

function render(status: WorkflowRunStatus | undefined, options: Partial<TreeOptions> = {}): string[] {
  const run: WorkflowRun = { metadata: { name: "demo" }, spec: {}, ...(status === undefined ? {} : { status }) };
  return renderTree(run, { now: start + 60_000, ...options });
}

const ended: WorkflowRunStatus = {
  phase: "Succeeded",
  reason: "RunCompleted",
  progress: "2/2",
  startTime: at(0),
  completionTime: at(3.21),
  outputs: { version: "1.2" },
  jobs: {
    deploy: {
      phase: "Succeeded",
      startTime: at(2),
      completionTime: at(3.21),
      steps: [{ name: "verify", phase: "Succeeded", startTime: at(2), completionTime: at(2.5), exitCode: 0 }],
    },
    build: {
      phase: "Succeeded",
      startTime: at(0.1),
      completionTime: at(2),
      outputs: { tag: "v1" },
      artifacts: {
        site: artifact("site", "Directory", 3 * 1024 * 1024),
        "dist.tgz": artifact("dist.tgz", "File", 812),
      },
      steps: [
        { name: "checkout", phase: "Succeeded", startTime: at(0.1), completionTime: at(0.1504) },
        { name: "test", phase: "Succeeded", startTime: at(1), completionTime: at(2), outputs: { tests: "a\nb" } },
      ],
    },
  },
};

test("a run that went well shows jobs, steps, outputs and artifacts", () => {
  expect(render(ended)).toEqual([
    "✔ demo  Succeeded  3.2s  2/2 jobs",
    "│  version = 1.2",
    "├─ ✔ build  Succeeded  1.9s",
    "│  │  tag = v1",
    "│  │  dist.tgz  812 B  sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "│  │  site/  3.0 MiB  sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "│  ├─ ✔ checkout  Succeeded  50ms",
    "│  └─ ✔ test  Succeeded  1s",
    "│        tests = a\\nb",
    "└─ ✔ deploy  Succeeded  1.2s",
    "   └─ ✔ verify  Succeeded  500ms",
  ]);
});

test("what runs counts up to now, what waits has no time, what failed says why", () => {
  const status: WorkflowRunStatus = {
    phase: "Running",
    startTime: at(0),
    attempt: 2,
    progress: "1/4",
    jobs: {
      wait: { phase: "Waiting" },
      late: { phase: "Waiting" },
      bad: {
        phase: "Failed",
        reason: "StepFailed",
        message: "step x failed",
        attempt: 3,
        startTime: at(1),
        completionTime: at(2),
        steps: [
          {
            name: "x",
            phase: "Failed",
            reason: "ExitNonZero",
            message: "exit code 3\n\nlast line",
            exitCode: 3,
            startTime: at(1),
            completionTime: at(2),
          },
          { name: "y", phase: "Skipped", reason: "StepFailed" },
        ],
      },
      work: { phase: "Running", startTime: at(0.5), steps: [{ name: "x", phase: "Running", startTime: at(1) }] },
    },
  };
  expect(render(status)).toEqual([
    "● demo  Running  1m0s  attempt 2  1/4 jobs",
    "├─ ● work  Running  59.5s",
    "│  └─ ● x  Running  59s",
    "├─ ✖ bad  Failed  1s  attempt 3",
    "│  │  StepFailed: step x failed",
    "│  ├─ ✖ x  Failed  1s  exit code 3",
    "│  │     ExitNonZero: exit code 3",
    "│  │     last line",
    "│  └─ ○ y  Skipped",
    "│        StepFailed",
    "├─ · wait  Waiting",
    "└─ · late  Waiting",
  ]);
});

test("of a long message the first line and the end are shown", () => {
  const message = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`).join("\n");
  const last = Array.from({ length: 10 }, (_, index) => `   line ${index + 21}`);
  const lines = render({ phase: "Failed", message });
  expect(lines).toEqual(["✖ demo  Failed", "   line 1", "   …", ...last]);
});

test("a run that nobody has looked at is Pending", () => {
  expect(render(undefined)).toEqual(["· demo  Pending"]);
});

test("jobs stand in the order of the plan when it is known", () => {
  const jobs = render(ended, { order: ["deploy", "build"] }).filter((line) => /^[├└]─ /.test(line));
  expect(jobs).toEqual(["├─ ✔ deploy  Succeeded  1.2s", "└─ ✔ build  Succeeded  1.9s"]);
});

test("lines are cut at the width of the terminal, colors or not", () => {
  const cut = render(ended, { width: 24 });
  expect(cut).toEqual(
    render(ended).map((line) => {
      const characters = [...line];
      return characters.length <= 24 ? line : `${characters.slice(0, 23).join("")}…`;
    }),
  );
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colors
  const bare = (lines: string[]) => lines.map((line) => line.replace(/\u001b\[\d+m/g, ""));
  expect(bare(render(ended, { width: 24, color: true }))).toEqual(cut);
});

test("colors follow the phase", () => {
  expect(render({ phase: "Failed" }, { color: true })).toEqual(["\u001b[31m✖ demo  Failed\u001b[0m"]);
  expect(render({ phase: "Succeeded" }, { color: true })).toEqual(["\u001b[32m✔ demo  Succeeded\u001b[0m"]);
});

test("values cannot steer the terminal", () => {
  const outputs = { evil: "\u001b[2J\u001b[1;1H\r\u0007\u009b31m\u202e" };
  expect(render({ phase: "Succeeded", outputs })).toEqual([
    "✔ demo  Succeeded",
    "   evil = \\u001b[2J\\u001b[1;1H\\r\\u0007\\u009b31m\\u202e",
  ]);
});

test("a job that uses a Workflow has the jobs of that below it, and a step the steps of its Action", () => {
  const used = new Map<string, WorkflowRun>([
    [
      "demo-call-1",
      {
        metadata: { name: "demo-call-1" },
        spec: {},
        status: {
          phase: "Running",
          jobs: {
            inner: {
              phase: "Running",
              steps: [{ name: "lint", phase: "Running", steps: [{ name: "check", phase: "Running" }] }],
            },
            // A name that somebody made go round in a circle.
            again: { phase: "Running", workflowRunName: "demo-call-1" },
          },
        },
      },
    ],
  ]);
  const call: WorkflowRunStatus = {
    phase: "Running",
    jobs: {
      call: { phase: "Running", workflowRunName: "demo-call-1" },
      other: { phase: "Running", workflowRunName: "demo-other-2" },
    },
  };
  const lines = render(call, { used });
  expect(lines.slice(0, 5)).toEqual([
    "● demo  Running",
    "├─ ● call  Running  as demo-call-1",
    "│  ├─ ● inner  Running",
    "│  │  └─ ● lint  Running",
    "│  │     └─ ● check  Running",
  ]);
  expect(lines.at(-1)).toBe("└─ ● other  Running  as demo-other-2");
  expect(lines.filter((text) => text.includes("inner"))).toHaveLength(3);
});

test("a run that goes on and has no place for the files of a job says what is missing; one that has ended does not", () => {
  const lack = {
    type: "WorkspaceReady",
    status: "False",
    reason: "WorkspaceCapacity",
    message: "job build waits for a place for its files: there is no Runtime bahs",
    lastTransitionTime: at(0),
  } as const;
  const status: WorkflowRunStatus = { phase: "Running", conditions: [lack], jobs: { build: { phase: "Queued" } } };
  expect(render(status)).toEqual([
    "● demo  Running",
    "│  WorkspaceCapacity: job build waits for a place for its files: there is no Runtime bahs",
    "└─ ◌ build  Queued",
  ]);
  expect(render({ ...status, phase: "Succeeded" })).toEqual(["✔ demo  Succeeded", "└─ ◌ build  Queued"]);
  const used = new Map([["demo-call", { metadata: { name: "demo-call" }, spec: {}, status }]]);
  expect(
    render({ phase: "Running", jobs: { call: { phase: "Running", workflowRunName: "demo-call" } } }, { used }),
  ).toEqual(expect.arrayContaining([expect.stringMatching(/WorkspaceCapacity: job build waits/)]));
});

test("a Run of its own is drawn like a step, with its artifacts", () => {
  const lines = renderRun(
    {
      metadata: { name: "hello" },
      spec: { runtime: "bash" },
      status: {
        phase: "Timeout",
        reason: "Timeout",
        message: "the attempt ran longer than 1s",
        attempt: 2,
        startTime: at(1),
        completionTime: at(2),
        exitCode: 143,
        outputs: { a: "1" },
        artifactRefs: [artifact("log", "File", 5)],
      },
    },
    { now: start },
  );
  expect(lines).toEqual([
    "✖ hello  Timeout  1s  attempt 2  exit code 143",
    "   Timeout: the attempt ran longer than 1s",
    "   a = 1",
    `   log  5 B  sha256:${"0123456789abcdef".repeat(4)}`,
  ]);
});
