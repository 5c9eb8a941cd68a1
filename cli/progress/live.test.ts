import { expect, test } from "vitest";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { Capture } from "../testing/capture.ts";
import { aRun, at, start } from "../testing/objects.ts";
import { Terminal } from "../testing/terminal.ts";
import { LiveDisplay } from "./live.ts";
import type { View } from "./view.ts";

const runs = (...names: string[]): View => ({
  workflowRuns: [],
  runs: names.map((name) => aRun(name, { phase: "Running", startTime: at(0) })),
  waits: [],
});

function setup(width = 80) {
  const out = new Capture({ isTerminal: true });
  out.width = width;
  const clock = new VirtualClock(start);
  const display = new LiveDisplay(out, clock, () => undefined);
  const terminal = new Terminal(width);
  const see = (ms = 0) => {
    clock.advance(ms);
    terminal.write(out.text);
    out.text = "";
    return terminal.lines;
  };
  return { out, clock, display, see };
}

test("what runs is drawn in place, and times count up", () => {
  const { display, see } = setup();
  display.update(runs("a", "b"));
  expect(see(0)).toEqual(["● a  Running  0s", "● b  Running  0s"]);
  expect(see(2000)).toEqual(["● a  Running  2s", "● b  Running  2s"]);
  display.update(runs("a"));
  expect(see(100)).toEqual(["● a  Running  2.1s"]);
});

test("output scrolls by above the drawing", () => {
  const { display, see } = setup();
  display.note("Started");
  display.update(runs("a"));
  see(60);
  display.log({ label: "a", stream: "stdout", text: "one\u001b[2J" });
  display.log({ label: "a", stream: "stdout", text: "two" });
  expect(see(60)).toEqual(["Started", "a | one", "a | two", "● a  Running  60ms"]);
});

test("lines of output that are longer than the terminal do not disturb the drawing", () => {
  const { display, see } = setup(20);
  display.update(runs("a"));
  see(60);
  display.log({ label: "a", stream: "stdout", text: "x".repeat(30) });
  see(60);
  expect(see(1000)).toEqual([`a | ${"x".repeat(16)}`, "x".repeat(14), "● a  Running  1.1s"]);
});

test("a flood of changes is drawn a few times only", () => {
  const { out, clock, display } = setup();
  let drawings = 0;
  out.write = () => {
    drawings += 1;
  };
  for (let i = 0; i < 1000; i++) {
    display.update(runs("a"));
    display.log({ label: "a", stream: "stdout", text: "line" });
    clock.advance(1);
  }
  expect(drawings).toBeLessThanOrEqual(21);
});

test("at the end the drawing goes, what was said stays, and nothing is left to do", () => {
  const { out, clock, display, see } = setup();
  display.update(runs("a"));
  see(60);
  display.log({ label: "a", stream: "stdout", text: "last" });
  display.end();
  display.end();
  expect(see(1000)).toEqual(["a | last"]);
  expect(clock.pending).toBe(0);
  expect(out.listeners).toBe(0);
});

test("a new size is drawn at once, also when lines were wrapped by it", () => {
  const { out, clock, display } = setup(40);
  display.update(runs("a-name-that-is-rather-long"));
  clock.advance(0);
  out.text = "";
  out.resize(20, 10);
  clock.advance(50);
  // The line of 38 characters takes two rows now.
  expect(out.text.startsWith("\u001b[2A\r\u001b[J")).toBe(true);
  expect(out.text).toContain("● a-name-that-is-r…");
});
