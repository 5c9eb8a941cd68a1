import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createClient } from "#kube/client.ts";
import { httpTransport } from "#kube/http-transport.ts";
import { loadClusterAccess } from "#kube/kubeconfig.ts";
import type { Client } from "#kube/resource.ts";
import { silentLogger, systemClock, systemRandom } from "#kube/system.ts";
import type { Transport } from "#kube/transport.ts";

export interface Usage {
  /** Processor time of all its threads so far. */
  readonly cpuMs: number;
  readonly rssBytes: number;
}

/** A local cluster in a process of its own, and a client that reaches it as kubectl does. */
export class ServerProcess {
  readonly client: Client;
  readonly transport: Transport;
  readonly kubeconfig: string;
  /** When it was ready to serve. */
  readonly atStart: Usage;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, kubeconfig: string, atStart: Usage) {
    this.#child = child;
    this.kubeconfig = kubeconfig;
    this.atStart = atStart;
    const deps = { clock: systemClock, random: systemRandom, logger: silentLogger };
    this.transport = httpTransport({ ...loadClusterAccess({ file: kubeconfig }), ...deps });
    this.client = createClient(this.transport);
  }

  /** Starts it on a state directory, whatever that holds. */
  static async start(directory: string): Promise<ServerProcess> {
    const child = fork(join(import.meta.dirname, "local-server.ts"), [directory], { execArgv: [] });
    const ended = once(child, "exit").then(() => {
      throw new Error("the local cluster ended before it was ready");
    });
    const [message] = await Promise.race([once(child, "message"), ended]);
    const { kubeconfig, usage } = message as { kubeconfig: string; usage: Usage };
    return new ServerProcess(child, kubeconfig, usage);
  }

  async usage(): Promise<Usage> {
    const answer = once(this.#child, "message");
    this.#child.send("usage");
    return ((await answer)[0] as { usage: Usage }).usage;
  }

  /** `kill -9`, or an orderly end. */
  async end(how: "SIGKILL" | "stop"): Promise<void> {
    await this.transport.close();
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, "exit");
    if (how === "stop") this.#child.send("stop");
    else this.#child.kill("SIGKILL");
    await exit;
  }
}
