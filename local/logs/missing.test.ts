import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { encodeRecord } from "#api/log-record.ts";
import { timestamp } from "#api/time.ts";
import { parseLogQuery } from "#extension-api/logs/query.ts";
import { createLogService } from "#extension-api/logs/service.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { FileLines } from "../node/file-lines.ts";
import { AgentFileLog } from "./agent-file-log.ts";
import { systemLogFiles } from "./log-file.ts";

test("records that the node removed are told with their number, and a cursor before them is a 410", async () => {
  const directory = mkdtempSync(join(tmpdir(), "krt-missing-"));
  const path = join(directory, "runtimed.log");
  const files = new FileLines({ fileBytes: 2000, files: 2 });
  const clock = new VirtualClock();
  const status = { phase: "Running" as const, attempt: 1, assignedPod: "p", assignedPodUID: "u" };
  const run = {
    metadata: { name: "a", namespace: "n", uid: "run-a", creationTimestamp: timestamp(clock.now()) },
    spec: { runtime: "bash" },
    status,
  };
  const service = createLogService({
    clock,
    runs: { get: async () => run, observe: () => () => {} },
    logs: { open: async () => new AgentFileLog("u", { path, files: systemLogFiles, onGrowth: () => () => {} }) },
  });
  const ask = (query: Record<string, string>) =>
    service.snapshot({ namespace: "n", name: "a", query: parseLogQuery(query), signal: new AbortController().signal });
  const print = (seq: number) => {
    const record = { run: "run-a", attempt: 1, seq, time: timestamp(clock.now()), stream: "stdout" as const };
    files.append(path, Buffer.from(encodeRecord({ ...record, message: `line ${seq}`, end: seq * 10 })));
  };
  for (let seq = 1; seq <= 5; seq++) print(seq);
  const { cursor } = await ask({ cursor: "start" });
  for (let seq = 6; seq <= 100; seq++) print(seq);

  const [first, ...rest] = (await ask({ cursor: "start" })).items;
  const missing = 100 - rest.length;
  expect(missing).toBeGreaterThan(50);
  expect(first).toMatchObject({
    stream: "system",
    message: `${missing} records are missing here: the node removed them before they were read`,
  });
  expect(rest.map(({ seq }) => seq)).toEqual(Array.from({ length: rest.length }, (_, n) => missing + n + 1));
  await expect(ask({ cursor })).rejects.toMatchObject({ code: 410, reason: "Expired" });
  files.close();
  rmSync(directory, { recursive: true });
});
