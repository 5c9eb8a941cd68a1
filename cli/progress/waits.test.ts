import { expect, test } from "vitest";
import type { Runtime } from "#api/kinds/runtime.ts";
import { aRun, at } from "../testing/objects.ts";
import type { Wait } from "./view.ts";
import { Patience, waitsOf } from "./waits.ts";

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

const wait = (label: string, reason = "NoReadyPods", text = "t"): Wait => ({ label, reason, text });

test("a wait is shown after five seconds, and patience says when that is", () => {
  const patience = new Patience();
  expect(patience.judge([wait("a")], 1000)).toEqual({ long: [], nextMs: 5000 });
  expect(patience.judge([wait("a", "NoReadyPods", "other text"), wait("b")], 3000)).toEqual({ long: [], nextMs: 3000 });
  expect(patience.judge([wait("a"), wait("b")], 6000)).toEqual({ long: [wait("a")], nextMs: 2000 });
  expect(patience.judge([wait("a"), wait("b")], 8000)).toEqual({ long: [wait("a"), wait("b")], nextMs: undefined });
});

test("a wait that ended, or has another reason, begins anew", () => {
  const patience = new Patience();
  patience.judge([wait("a")], 0);
  expect(patience.judge([], 4000)).toEqual({ long: [], nextMs: undefined });
  expect(patience.judge([wait("a")], 5000)).toEqual({ long: [], nextMs: 5000 });
  expect(patience.judge([wait("a", "InsufficientCapacity")], 12000)).toEqual({ long: [], nextMs: 5000 });
});
