import { expect, test } from "vitest";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { Capture } from "../testing/capture.ts";
import { aRun } from "../testing/objects.ts";
import { PlainDisplay } from "./plain.ts";
import type { View } from "./view.ts";

const running: View = { workflowRuns: [], runs: [aRun("hello", { phase: "Running" })], waits: [] };
const ended: View = { workflowRuns: [], runs: [aRun("hello", { phase: "Succeeded" })], waits: [] };

function setup(color = false) {
  const out = new Capture({ color });
  const clock = new VirtualClock();
  return { out, clock, display: new PlainDisplay(out, clock) };
}

test("output that was on its way stands before the end that overtook it", () => {
  const { out, clock, display } = setup();
  display.update(running);
  clock.advance(100);
  display.update(ended);
  display.log({ label: "hello", stream: "stdout", text: "last words" });
  clock.advance(100);
  expect(out.take()).toEqual(["hello Running", "hello | last words", "hello Succeeded"]);
});

test("a word of ours comes after what happened before it", () => {
  const { out, display } = setup();
  display.update(running);
  display.note("Interrupted");
  expect(out.take()).toEqual(["hello Running", "Interrupted"]);
});

test("nothing is held back at the end, and no timer is left", () => {
  const { out, clock, display } = setup();
  display.update(running);
  display.end();
  expect(out.take()).toEqual(["hello Running"]);
  expect(clock.pending).toBe(0);
});

test("output is passed on as it is; words of the platform are marked", () => {
  const { out, display } = setup();
  display.log({ label: "a/b", stream: "stderr", text: "\u001b[31mred" });
  display.log({ label: "a/b", stream: "system", text: "records were lost" });
  expect(out.take()).toEqual(["a/b | \u001b[31mred", "a/b * records were lost"]);
});

test("labels step back where there are colors", () => {
  const { out, display } = setup(true);
  display.log({ label: "a/b", stream: "stdout", text: "x" });
  expect(out.take()).toEqual(["\u001b[2ma/b | \u001b[0mx"]);
});
