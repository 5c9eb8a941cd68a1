/**
 * `npm run bench:logs`: how fast logs are, and which part of the way takes how much CPU. Without flags the service alone is measured,
 * between processes that stand for the cluster and the client; `--cluster` goes the whole way on the cluster of the kubeconfig
 * (which has the platform), `--local` on a local cluster of its own.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { CpuTimes } from "./logs/cpu.ts";
import { EndToEnd } from "./logs/end-to-end.ts";
import { Pipeline } from "./logs/pipeline.ts";

const { values } = parseArgs({
  options: {
    /** Bytes of a line. */
    bytes: { type: "string", multiple: true, default: ["100", "1000", "8000"] },
    /** MB that are printed each time; a Run may print 16 MiB at full speed. */
    mb: { type: "string" },
    /** Runs that do so, one after the other; of the service alone: no matter. */
    runs: { type: "string", default: "4" },
    cluster: { type: "boolean", default: false },
    local: { type: "boolean", default: false },
    image: { type: "string", default: "localhost/kruntimes-bash:test" },
    /** Folder for CPU profiles of the service. */
    profile: { type: "string" },
  },
});
const sizes = values.bytes.map(Number);

const perMB = (cpu: CpuTimes, megabytes: number): string =>
  [...cpu]
    .filter(([, ms]) => ms > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name, ms]) => `${name} ${(ms / megabytes).toFixed(1)}`)
    .join(", ");

async function pipeline(): Promise<void> {
  const printed = Number(values.mb ?? 100) * 1e6;
  console.log(`\nThe service alone, ${printed / 1e6} MB of one Pod to one follower (CPU: ms for each MB)`);
  await using service = await Pipeline.make();
  for (const messageBytes of sizes) {
    const { printedMB, seconds, cpu, maxRssMB } = await service.run(
      { messageBytes, printed, own: true },
      values.profile,
    );
    const perCpu = (printedMB * 1000) / (cpu.get("service") ?? Number.NaN);
    console.log(
      `${messageBytes}-byte lines: ${(printedMB / seconds).toFixed(1)} MB/s by the clock, ${perCpu.toFixed(1)} MB for each second of ` +
        `the service's CPU; ${perMB(cpu, printedMB)}; memory ${maxRssMB.toFixed(0)} MB`,
    );
  }
  for (const messageBytes of sizes) {
    const { storedMB, cpu } = await service.run({ messageBytes, printed, own: false }, values.profile);
    console.log(
      `records of other Runs, ${messageBytes}-byte lines, for each MB that is skipped: ${perMB(cpu, storedMB)}`,
    );
  }
}

async function endToEnd(title: string, kubeconfig: string | undefined, directory: string): Promise<void> {
  const printed = Number(values.mb ?? 15) * 1e6;
  console.log(
    `\n${title}, ${values.runs} times ${printed / 1e6} MB of one Pod, from the program to the client library (CPU: ms for each MB)`,
  );
  await using bench = await EndToEnd.make(kubeconfig, values.image, directory);
  const delays = await bench.delays(60);
  const at = (part: number) => delays[Math.floor(delays.length * part)]?.toFixed(1);
  console.log(`line printed to line at the client: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms`);
  for (const messageBytes of sizes) {
    // A local cluster has nothing of which our way would be a part.
    if (directory === "") {
      const floor = await bench.floor(messageBytes, printed);
      console.log(
        `${messageBytes}-byte lines, the log of a container of its own, without us: ${floor.toFixed(1)} MB/s`,
      );
    }
    const { printedMB, receivedMB, seconds, cpu } = await bench.throughput(messageBytes, printed, Number(values.runs));
    console.log(
      `${messageBytes}-byte lines: ${(receivedMB / seconds).toFixed(1)} MB/s by the clock (${receivedMB.toFixed(1)} of ` +
        `${printedMB.toFixed(1)} MB came in ${seconds.toFixed(1)} s); ${perMB(cpu, receivedMB)}`,
    );
  }
}

async function local(): Promise<void> {
  const state = await mkdtemp(join(tmpdir(), "logs-bench-"));
  const krt = join(import.meta.dirname, "../../bin/krt.mjs");
  const cluster = spawn(process.execPath, [krt, "local", "up", "--state-dir", state], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(cluster, "exit");
  try {
    await Promise.race([once(cluster.stdout, "data"), ended]);
    await endToEnd("A local cluster", join(state, "kubeconfig"), state);
  } finally {
    cluster.kill("SIGTERM");
    await ended;
    await rm(state, { recursive: true, force: true });
  }
}

if (values.local) await local();
if (values.cluster) await endToEnd("The cluster of the kubeconfig", undefined, "");
if (!values.local && !values.cluster) await pipeline();
