/** The service alone: the real program between a process that plays API server and node, and one that plays the API server's client. */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { logPath } from "#extension-api/logs/route.ts";
import { makeCertificate } from "#kube/testing/certificates.ts";
import { countCpu } from "./cpu.ts";
import { namespace, type RecordedTask, runName } from "./recorded-names.ts";

export interface PipelineResult {
  readonly printedMB: number;
  /** Bytes that the node sent. */
  readonly storedMB: number;
  /** Bytes that the client got. */
  readonly sentMB: number;
  readonly seconds: number;
  /** CPU time in milliseconds by process. */
  readonly cpu: ReadonlyMap<string, number>;
  readonly maxRssMB: number;
}

const root = join(import.meta.dirname, "../../..");

export class Pipeline implements AsyncDisposable {
  readonly #directory: string;
  readonly #ca = makeCertificate("front-proxy-ca");
  readonly #client = makeCertificate("front-proxy-client", this.#ca);
  readonly #serving = makeCertificate("localhost");
  readonly #cluster = fork(join(import.meta.dirname, "recorded-cluster.ts"));
  #clusterPort = 0;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async make(): Promise<Pipeline> {
    const pipeline = new Pipeline(await mkdtemp(join(tmpdir(), "logs-pipeline-")));
    pipeline.#clusterPort = (await message<{ port: number }>(pipeline.#cluster)).port;
    await writeFile(join(pipeline.#directory, "tls.crt"), pipeline.#serving.cert);
    await writeFile(join(pipeline.#directory, "tls.key"), pipeline.#serving.key, { mode: 0o600 });
    await writeFile(join(pipeline.#directory, "token"), "token", { mode: 0o600 });
    return pipeline;
  }

  /** One follower reads all of a recording. @param profile a folder for a CPU profile of the service */
  async run(task: Omit<RecordedTask, "ca">, profile?: string): Promise<PipelineResult> {
    const recorded = message<{ logBytes: number }>(this.#cluster);
    this.#cluster.send({ ...task, ca: this.#ca.cert });
    const { logBytes } = await recorded;
    const port = await freePort();
    const probePort = await freePort();
    const file = (name: string) => join(this.#directory, name);
    const service = spawn(
      process.execPath,
      [
        ...(profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`]),
        join(root, "bin/kruntimes.mjs"),
        "run-extension-api",
        `--port=${port}`,
        `--probe-port=${probePort}`,
        `--tls-cert-file=${file("tls.crt")}`,
        `--tls-key-file=${file("tls.key")}`,
        "--log-level=warn",
      ],
      {
        env: {
          ...process.env,
          KRUNTIMES_API_SERVER: `http://127.0.0.1:${this.#clusterPort}`,
          KRUNTIMES_TOKEN_FILE: file("token"),
        },
        stdio: ["ignore", "inherit", "inherit"],
      },
    );
    try {
      await answers(`http://127.0.0.1:${probePort}/readyz`);
      const names = new Map([
        [process.pid, "client"],
        [service.pid, "service"],
        [this.#cluster.pid, "node"],
      ]);
      const used = countCpu((_, pid) => names.get(pid));
      const begun = performance.now();
      const sent = await this.#read(port, task.own ? Math.ceil(task.printed / (task.messageBytes + 1)) : 1);
      const seconds = (performance.now() - begun) / 1000;
      return {
        printedMB: task.printed / 1e6,
        storedMB: logBytes / 1e6,
        sentMB: sent / 1e6,
        seconds,
        cpu: used(),
        maxRssMB: highWater(service.pid ?? 0),
      };
    } finally {
      const exit = new Promise((resolve) => service.once("exit", resolve));
      service.kill("SIGTERM");
      await exit;
    }
  }

  /** @returns bytes that came */
  #read(port: number, records: number): Promise<number> {
    const { cert, key } = this.#client;
    return new Promise((resolve, reject) => {
      const asked = request(
        `https://localhost:${port}${logPath(namespace, runName)}?follow=true&cursor=start`,
        { ca: this.#serving.cert, cert, key, headers: { "x-remote-user": "ada" }, agent: false },
        (incoming) => {
          let bytes = 0;
          let lines = 0;
          incoming.on("data", (piece: Buffer) => {
            bytes += piece.length;
            for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines++;
          });
          incoming.on("end", () => {
            if (incoming.statusCode === 200 && lines === records) resolve(bytes);
            else reject(new Error(`${lines} of ${records} records came (${incoming.statusCode})`));
          });
        },
      );
      asked.on("error", reject);
      asked.end();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cluster.disconnect();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

function message<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once("message", (value) => resolve(value as T));
    child.once("exit", (code) => reject(new Error(`the recorded cluster has ended (${code})`)));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

async function answers(url: string): Promise<void> {
  for (const until = performance.now() + 20_000; ; ) {
    const ok = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return;
    if (performance.now() > until) throw new Error(`${url} does not answer`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function highWater(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
}
