import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { inject } from "vitest";
import { TestCluster } from "#test/integration/support/cluster.ts";

/** How a kubectl ended, and what it said. */
export interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A kubectl that runs on and prints lines (`get -w`). */
export interface Running {
  /** Resolves with the first line that matches, those printed before included; rejects when kubectl ends without one. */
  line(pattern: RegExp): Promise<string>;
  readonly lines: readonly string[];
  stop(): Promise<void>;
}

/** A local cluster for one test file, and a real kubectl that talks to it with a home directory of its own. */
export class KubectlCluster {
  readonly cluster: TestCluster;
  readonly #home: string;
  readonly #children = new Set<ChildProcess>();

  private constructor(cluster: TestCluster, home: string) {
    this.cluster = cluster;
    this.#home = home;
  }

  static async start(): Promise<KubectlCluster> {
    return new KubectlCluster(await TestCluster.start(), await mkdtemp(join(tmpdir(), "krt-home-")));
  }

  async stop(): Promise<void> {
    for (const child of this.#children) child.kill("SIGKILL");
    await this.cluster.stop();
    await rm(this.#home, { recursive: true, force: true });
  }

  /** Runs kubectl to its end; `input` is its standard input. */
  async run(args: readonly string[], input = "", env: NodeJS.ProcessEnv = {}): Promise<Said> {
    const child = this.#spawn(args, env);
    child.stdin?.end(input);
    let out = "";
    let err = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      err += text;
    });
    const [code] = (await once(child, "close")) as [number | null];
    return { code, out, err };
  }

  /** What kubectl prints. @throws Error when it fails or warns. */
  async kubectl(args: string | readonly string[], input = ""): Promise<string> {
    const list = typeof args === "string" ? args.split(" ") : args;
    const { code, out, err } = await this.run(list, input);
    if (code !== 0 || err !== "") throw new Error(`kubectl ${list.join(" ")} ended with ${code}: ${err}${out}`);
    return out;
  }

  /** What kubectl complains about. @throws Error when it succeeds. */
  async refused(args: string | readonly string[], input = ""): Promise<string> {
    const list = typeof args === "string" ? args.split(" ") : args;
    const { code, out, err } = await this.run(list, input);
    if (code === 0) throw new Error(`kubectl ${list.join(" ")} succeeded: ${out}`);
    return err;
  }

  /** A JSON document that kubectl prints. */
  async json<T>(args: string, input?: string): Promise<T> {
    return JSON.parse(await this.kubectl(`${args} -o json`, input)) as T;
  }

  /** Starts a kubectl that does not end by itself. */
  watch(args: string): Running {
    const child = this.#spawn(args.split(" "), {});
    const lines: string[] = [];
    const waiting = new Set<() => void>();
    const tell = () => {
      for (const wake of waiting) wake();
    };
    let ended = false;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => lines.push(`stderr: ${text}`));
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on("line", (line) => {
        lines.push(line);
        tell();
      });
    }
    child.on("close", () => {
      ended = true;
      tell();
    });
    return {
      lines,
      line: (pattern) =>
        new Promise((resolve, reject) => {
          const look = () => {
            const found = lines.find((line) => pattern.test(line));
            if (found === undefined && !ended) return;
            waiting.delete(look);
            if (found !== undefined) resolve(found);
            else reject(new Error(`kubectl ${args} ended without ${pattern}: ${lines.join("\n")}`));
          };
          waiting.add(look);
          look();
        }),
      async stop() {
        if (child.exitCode === null && child.signalCode === null) {
          child.kill();
          await once(child, "close");
        }
      },
    };
  }

  #spawn(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
    const { kubeconfig } = this.cluster.cluster;
    const child = spawn(inject("kubectl"), args, {
      stdio: ["pipe", "pipe", "pipe"],
      env: { PATH: process.env.PATH, HOME: this.#home, KUBECONFIG: kubeconfig, ...env },
    });
    this.#children.add(child);
    child.on("close", () => this.#children.delete(child));
    return child;
  }
}
