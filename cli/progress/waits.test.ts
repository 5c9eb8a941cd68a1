import { expect, test } from "vitest";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { aRun, at } from "../testing/objects.ts";
import { lacksOf, Patience, waitsOf } from "./waits.ts";

const runtime = (trouble?: string): Runtime => ({
  metadata: { name: "bash", namespace: "default" },
  spec: { template: { spec: { containers: [] } } },
  status: {
    conditions: [
      {
        type: "Degraded",
        status: trouble === undefined ? "False" : "True",
        reason: "PodsFailing",
        message: trouble ?? "no Pod is in trouble",
        lastTransitionTime: at(0),
      },
    ],
  },
});

const pending = aRun("a", { phase: "Pending", reason: "NoReadyPods", message: "Runtime bash has no ready Pod" });

test("a Run that waits is told with its message and what to do", () => {
  expect(waitsOf([pending], [runtime()], false)).toEqual([
    {
      label: "a",
      reason: "NoReadyPods",
      text: "Runtime bash has no ready Pod. Look at the Pods and conditions of the Runtime.",
    },
  ]);
});

test("when the Runtime knows what is wrong with its Pods, that is told instead", () => {
  const [wait] = waitsOf([pending], [runtime('Pod p, container runtime: ClaimNotFound: no claim "x"')], false);
  expect(wait?.text).toBe('Runtime bash has no ready Pod. Pod p, container runtime: ClaimNotFound: no claim "x"');
});

test("the Runtime of another namespace says nothing", () => {
  const other = { ...runtime("broken"), metadata: { name: "bash", namespace: "other" } };
  expect(waitsOf([pending], [other], false)[0]?.text).not.toContain("broken");
});

test("what runs, ended, or has no reason does not wait", () => {
  const runs = [
    aRun("a", { phase: "Running", reason: "NoReadyPods" }),
    aRun("b", { phase: "Failed", reason: "ExitNonZero" }),
    aRun("c", { phase: "Pending" }),
    aRun("d", undefined),
  ];
  expect(waitsOf(runs, [], false)).toEqual([]);
});

const waits = (name: string, reason?: string) => aRun(name, { phase: "Pending", ...(reason && { reason }) });
const names = ({ long, nextMs }: ReturnType<Patience["judge"]>) => [long.map(({ metadata }) => metadata.name), nextMs];

test("a wait is long after five seconds, and patience says when that is", () => {
  const patience = new Patience();
  expect(names(patience.judge([waits("a")], 1000))).toEqual([[], 5000]);
  expect(names(patience.judge([waits("a", "NoReadyPods"), aRun("b", undefined)], 3000))).toEqual([[], 3000]);
  expect(names(patience.judge([waits("a", "BackingOff"), waits("b")], 6000))).toEqual([["a"], 2000]);
  expect(names(patience.judge([waits("a"), waits("b")], 8000))).toEqual([["a", "b"], undefined]);
});

test("a Run that was placed meanwhile begins to wait anew", () => {
  const patience = new Patience();
  patience.judge([waits("a")], 0);
  expect(names(patience.judge([aRun("a", { phase: "Running" })], 4000))).toEqual([[], undefined]);
  expect(names(patience.judge([waits("a")], 5000))).toEqual([[], 5000]);
});

test("a WorkflowRun that goes on tells what its jobs lack, and one that has ended does not", () => {
  const lacking = (phase: "Running" | "Failed", status: "True" | "False"): WorkflowRun => {
    const reason = "WorkspaceCapacity";
    const condition = { type: "WorkspaceReady", status, reason, message: "no Runtime", lastTransitionTime: at(0) };
    return { metadata: { name: "ci-1" }, spec: {}, status: { phase, conditions: [condition] } };
  };
  expect(lacksOf(lacking("Running", "False"))).toEqual([
    { label: "ci-1", reason: "WorkspaceCapacity", text: "no Runtime" },
  ]);
  expect([...lacksOf(lacking("Running", "True")), ...lacksOf(lacking("Failed", "False"))]).toEqual([]);
});
