import { expect, test } from "vitest";
import { encodeRecord } from "#api/log-record.ts";
import type { StoredObject } from "#local/apiserver/index.ts";
import { FileLog, type LogFiles } from "#local/logs/line-file.ts";
import type { HttpAnswer } from "./message.ts";
import { podLogRoute } from "./pod-log.ts";

const pod = {
  metadata: { name: "p", namespace: "default", uid: "u" },
  spec: { initContainers: [{ name: "side" }], containers: [{ name: "main" }] },
} as unknown as StoredObject;

/** A log in memory that grows line by line. */
function start(...first: string[]) {
  let bytes = Buffer.alloc(0);
  const readers = new Set<() => void>();
  let delete_ = () => {};
  const files: LogFiles = {
    open: () => ({
      start: () => 0,
      size: () => bytes.length,
      read: async (from, to) => bytes.subarray(from, to),
      close() {},
    }),
    pipesDrained: async () => {},
  };
  const print = (line: string) => {
    bytes = Buffer.concat([bytes, Buffer.from(`${line}\n`)]);
    for (const grown of readers) grown();
  };
  first.forEach(print);
  const route = podLogRoute({
    now: () => Date.parse("2026-01-01T00:10:00Z"),
    open: (podUid, container) =>
      new FileLog({
        path: `/${podUid}/${container}`,
        files,
        onGrowth(fn) {
          readers.add(fn);
          return () => readers.delete(fn);
        },
      }),
    gone: () => new Promise((resolve) => (delete_ = resolve)),
  });
  const controller = new AbortController();
  const ask = (query: Record<string, string> = {}) => route(pod, { container: "side", ...query }, controller.signal);
  return { ask, print, controller, readers, removePod: () => delete_() };
}

async function textOf({ body }: HttpAnswer): Promise<string> {
  let all = "";
  for await (const piece of body as AsyncIterable<string>) all += piece;
  return all;
}

const record = (seq: number, minute: number): string =>
  encodeRecord({
    run: "r",
    attempt: 1,
    seq,
    time: `2026-01-01T00:0${minute}:00.000000Z`,
    stream: "stdout",
    message: `line ${seq}`,
  }).trimEnd();

test.each([
  ["everything by default", {}, ["a", "b", "c"]],
  ["the last lines", { tailLines: "2" }, ["b", "c"]],
  ["no line at all", { tailLines: "0" }, []],
  ["no more bytes than allowed", { limitBytes: "3" }, ["a", "b"]],
])("a log gives %s", async (_sentence, query, lines) => {
  const { ask } = start("a", "b", "c");
  const text = lines.map((line) => `${line}\n`).join("");
  expect(await textOf(await ask(query))).toBe("limitBytes" in query ? text.slice(0, 3) : text);
});

test("lines can be had from a time on, and with their times", async () => {
  const { ask } = start("before any record", record(1, 1), record(2, 5), "of no record", record(3, 8));
  const tail = [record(2, 5), "of no record", record(3, 8)].map((line) => `${line}\n`).join("");
  expect(await textOf(await ask({ sinceTime: "2026-01-01T00:05:00Z" }))).toBe(tail);
  expect(await textOf(await ask({ sinceSeconds: "300" }))).toBe(tail);
  expect(await textOf(await ask({ sinceSeconds: "60" }))).toBe("");
  expect(await textOf(await ask({ tailLines: "1", timestamps: "true" }))).toBe(
    `2026-01-01T00:08:00.000000Z ${record(3, 8)}\n`,
  );
});

test("a log that is followed gives what comes, and ends when the Pod is gone", async () => {
  const { ask, print, removePod, readers } = start("a", "b");
  const answer = await ask({ follow: "true", tailLines: "1" });
  const pieces = (answer.body as AsyncIterable<string>)[Symbol.asyncIterator]();
  expect((await pieces.next()).value).toBe("b\n");
  print("c");
  expect((await pieces.next()).value).toBe("c\n");
  const next = pieces.next();
  print("d");
  print("e");
  expect((await next).value).toBe("d\n");
  expect((await pieces.next()).value).toBe("e\n");
  removePod();
  expect((await pieces.next()).done).toBe(true);
  expect(readers.size).toBe(0);
});

test("what a Pod printed before it went is still given", async () => {
  const { ask, print, removePod } = start("a");
  const answer = await ask({ follow: "true" });
  const pieces = (answer.body as AsyncIterable<string>)[Symbol.asyncIterator]();
  await pieces.next();
  const next = pieces.next();
  removePod();
  print("last words");
  expect((await next).value).toBe("last words\n");
  expect((await pieces.next()).done).toBe(true);
});

test("a follower that leaves while nothing is printed is let go", async () => {
  const { ask, controller, readers } = start("a");
  const answer = await ask({ follow: "true" });
  const pieces = (answer.body as AsyncIterable<string>)[Symbol.asyncIterator]();
  await pieces.next();
  const next = pieces.next();
  controller.abort();
  expect((await next).done).toBe(true);
  expect(readers.size).toBe(0);
});

test.each([
  ["no container where there are several", { container: "" }, "choose one of: [main side]"],
  ["a container that the Pod does not have", { container: "x" }, "container x is not valid for pod p"],
  ["the log of an earlier start", { previous: "true" }, "previous"],
  ["a number of lines that is none", { tailLines: "-1" }, "tailLines: Invalid value"],
  ["a time that is none", { sinceTime: "noon" }, "sinceTime: Invalid value"],
  ["two beginnings", { sinceTime: "2026-01-01T00:05:00Z", sinceSeconds: "1" }, "at most one of"],
])("asking for %s is refused", async (_sentence, query, message) => {
  const { ask } = start();
  await expect(ask(query)).rejects.toMatchObject({ code: 400, message: expect.stringContaining(message) });
});
