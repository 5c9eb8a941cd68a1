/** A Pod that prints as fast as it can, and a client that follows it through the API server; on whatever cluster a kubeconfig names. */
import { randomBytes } from "node:crypto";
import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import { runs, runtimes } from "#api/resources.ts";
import { createLogs, fromStart } from "#extension-api/client/logs.ts";
import { namespaces } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { httpTransport } from "#kube/http-transport.ts";
import { loadClusterAccess } from "#kube/kubeconfig.ts";
import type { Client } from "#kube/resource.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import type { Transport } from "#kube/transport.ts";
import { type CpuTimes, countCpu, type NameOf } from "./cpu.ts";
import { messageOf } from "./recording.ts";

export interface EndToEndResult {
  /** What came of what was printed; the log says honestly what the node removed before it was read. */
  readonly printedMB: number;
  readonly receivedMB: number;
  /** From the first record at the client to the last. */
  readonly seconds: number;
  /** From the start of the program to its end: how fast it could print. */
  readonly printingSeconds: number;
  readonly cpu: CpuTimes;
}

/** Programs of a cluster by their command lines; a local one is one process with API server and node in it. */
const programs: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["agent", /kruntimes\S* agent /],
  ["executor", /\bexecutor /],
  ["run-extension-api", /run-extension-api/],
  ["kube-apiserver", /kube-apiserver/],
  ["kubelet", /kubelet/],
  ["containerd", /containerd/],
  ["local cluster", /krt\.mjs local/],
];

export class EndToEnd implements AsyncDisposable {
  readonly #transport: Transport;
  readonly #client: Client;
  readonly #namespace = `kruntimes-bench-${randomBytes(3).toString("hex")}`;
  readonly #nameOf: NameOf;
  #count = 0;

  private constructor(kubeconfig: string | undefined, directory: string) {
    this.#nameOf = (command, pid) => {
      if (pid === process.pid) return "client";
      return command.includes(directory) ? programs.find(([, pattern]) => pattern.test(command))?.[0] : undefined;
    };
    const access = loadClusterAccess({ file: kubeconfig });
    this.#transport = httpTransport({ ...access, clock: systemClock, random: systemRandom, logger: silentLogger });
    this.#client = createClient(this.#transport);
  }

  /**
   * @param image of the runtime container
   * @param directory which all of the cluster's processes have in their command lines; empty: all of the machine are meant
   */
  static async make(kubeconfig: string | undefined, image: string, directory: string): Promise<EndToEnd> {
    const bench = new EndToEnd(kubeconfig, directory);
    const namespace = bench.#namespace;
    const metadata = { name: namespace, labels: { "kruntimes.io/test": "true" } };
    await bench.#client.of(namespaces).create({ apiVersion: "v1", kind: "Namespace", metadata });
    const container = { name: "runtime", image, imagePullPolicy: "IfNotPresent" };
    const runtime: Runtime = {
      apiVersion: "kruntimes.io/v1alpha1",
      kind: "Runtime",
      metadata: { name: "bench", namespace },
      spec: {
        replicas: 1,
        capacity: { resources: { runs: 16 } },
        template: { spec: { containers: [container] } as Runtime["spec"]["template"]["spec"] },
      },
    };
    await bench.#client.of(runtimes).create(runtime);
    await until(async () => {
      const { status } = await bench.#client.of(runtimes).get({ namespace, name: "bench" });
      return status?.readyReplicas === 1;
    });
    return bench;
  }

  /** One Run prints lines as fast as it can; one follower reads them. */
  async throughput(messageBytes: number, printed: number): Promise<EndToEndResult> {
    const lines = Math.ceil(printed / (messageBytes + 1));
    const run = await this.#start(`yes '${messageOf(messageBytes)}' | head -n ${lines}`);
    const used = countCpu(this.#nameOf);
    let first = 0;
    let received = 0;
    for await (const { stream, message } of await this.#follow(run)) {
      if (stream !== "stdout") continue;
      if (first === 0) first = performance.now();
      received += message.length + 1;
    }
    const seconds = (performance.now() - first) / 1000;
    const cpu = used();
    const { status } = await this.#client.of(runs).get(run);
    const printingSeconds = (Date.parse(status?.completionTime ?? "") - Date.parse(status?.startTime ?? "")) / 1000;
    return { printedMB: (lines * (messageBytes + 1)) / 1e6, receivedMB: received / 1e6, seconds, printingSeconds, cpu };
  }

  /** Milliseconds from the moment a line is printed to the client. The clock of the node has to be this machine's. */
  async delays(count: number): Promise<readonly number[]> {
    const run = await this.#start(`for n in $(seq ${count}); do date +%s%N; sleep 0.05; done`);
    const delays: number[] = [];
    for await (const { message } of await this.#follow(run)) {
      delays.push(performance.timeOrigin + performance.now() - Number(message) / 1e6);
    }
    return delays.sort((a, b) => a - b);
  }

  async #start(script: string): Promise<{ readonly name: string; readonly namespace: string }> {
    const ref = { name: `bench-${++this.#count}`, namespace: this.#namespace };
    const spec: Run["spec"] = { runtime: "bench", source: { inline: script } };
    await this.#client.of(runs).create({ apiVersion: "kruntimes.io/v1alpha1", kind: "Run", metadata: ref, spec });
    return ref;
  }

  #follow({ name, namespace }: { readonly name: string; readonly namespace: string }) {
    const logs = createLogs({ transport: this.#transport, clock: systemClock, random: systemRandom });
    return logs.getLogs(namespace, name, { follow: true, cursor: fromStart }).stream();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.of(namespaces).delete({ name: this.#namespace });
    await this.#transport.close();
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 60_000; !(await holds()); ) {
    if (performance.now() > end) throw new Error("the Runtime has no ready Pod after a minute");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
