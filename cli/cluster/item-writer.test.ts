import { expect, test } from "vitest";
import type { LogItem } from "#extension-api/client/logs.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import type { Output } from "../environment.ts";
import { Capture } from "../testing/capture.ts";
import { ItemWriter } from "./item-writer.ts";

function start(timestamps = false) {
  const writes: [to: string, bytes: string][] = [];
  const to = (name: string): Output => {
    const output = new Capture();
    output.write = (text) => void writes.push([name, Buffer.from(text as string).toString("latin1")]);
    return output;
  };
  const clock = new VirtualClock();
  const writer = new ItemWriter({ out: to("out"), err: to("err"), clock }, timestamps);
  return { writes, clock, writer };
}

const item = (message: string, more: Partial<LogItem> = {}): LogItem => ({
  attempt: 1,
  seq: 1,
  time: "T",
  stream: "stdout",
  message,
  ...more,
});

test("lines that come together are one write, and none waits for the next", async () => {
  const { writes, clock, writer } = start();
  writer.write(item("one"));
  writer.write(item("two"));
  expect(writes).toEqual([]);
  await clock.advance(0);
  expect(writes).toEqual([["out", "one\ntwo\n"]]);
});

test("the order over both streams stays, words of the platform and bytes that are no text included", () => {
  const { writes, writer } = start();
  writer.write(item("a", { partial: true }));
  writer.write(item("b", { stream: "stderr" }));
  writer.write(item("restarted", { stream: "system" }));
  writer.write(item("/w==", { encoding: "base64" }));
  writer.write(item("c"));
  writer.flush();
  expect(writes).toEqual([
    ["out", "a"],
    ["err", "b\n* restarted\n"],
    ["out", "\u00ff\n"],
    ["out", "c\n"],
  ]);
});

test("much is written before all of it is there", () => {
  const { writes, writer } = start();
  for (let n = 0; n < 100; n++) writer.write(item("x".repeat(1000)));
  expect(writes).toHaveLength(1);
  writer.flush();
  expect(writes.map(([, text]) => text).join("")).toBe(`${"x".repeat(1000)}\n`.repeat(100));
});

test("with times each line begins with its own", () => {
  const { writes, writer } = start(true);
  writer.write(item("one", { time: "T1" }));
  writer.write(item("/w==", { time: "T2", encoding: "base64" }));
  writer.flush();
  expect(writes.map(([, text]) => text).join("")).toBe("T1 one\nT2 \u00ff\n");
});
