/** A Pod that prints as fast as it can, and a client that follows it through the API server; on whatever cluster a kubeconfig names. */
import { randomBytes } from "node:crypto";
import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import { runs, runtimes } from "#api/resources.ts";
import { createLogs, fromStart } from "#extension-api/client/logs.ts";
import { namespaces, type Pod, pods } from "#kube/builtin.ts";
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
  /** From the first record of each Run at its agent to the last at the client. */
  readonly seconds: number;
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
  readonly #image: string;
  #count = 0;

  private constructor(kubeconfig: string | undefined, image: string, directory: string) {
    this.#image = image;
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
    const bench = new EndToEnd(kubeconfig, image, directory);
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

  /**
   * Runs on the one Pod print lines as fast as they can, one after the other since a Run may do so for 16 MiB only, each with a follower.
   * The lines are made before, as the way of the log is what is measured. A first Run is not counted: programs that just began
   * compile themselves.
   */
  async throughput(messageBytes: number, printed: number, count: number): Promise<EndToEndResult> {
    const lines = Math.ceil(printed / (messageBytes + 1));
    const made = '"$TMPDIR/lines"';
    const script = `yes '${messageOf(messageBytes)}' | head -n ${lines} > ${made}; sleep 0.5; cat ${made}`;
    await this.#read(script);
    await quiet();
    const used = countCpu(this.#nameOf);
    let received = 0;
    let seconds = 0;
    for (let n = 0; n < count; n++) {
      const read = await this.#read(script);
      received += read.received;
      seconds += read.seconds;
      await quiet();
    }
    const printedMB = (count * lines * (messageBytes + 1)) / 1e6;
    return { printedMB, receivedMB: received / 1e6, seconds, cpu: used() };
  }

  /**
   * The same without us, as the floor: a container of its own prints the lines, and its log is followed through the API server.
   *
   * @returns MB a second from the first line at the node to the last at the client
   */
  async floor(messageBytes: number, printed: number): Promise<number> {
    const lines = Math.ceil(printed / (messageBytes + 1));
    const script = `yes '${messageOf(messageBytes)}' | head -n ${lines} > /tmp/lines; sleep 3; cat /tmp/lines`;
    const metadata = { name: `floor-${++this.#count}`, namespace: this.#namespace };
    const container = { name: "floor", image: this.#image, command: ["sh", "-c", script] };
    const spec = { restartPolicy: "Never", containers: [container] };
    await this.#client.of(pods).create({ apiVersion: "v1", kind: "Pod", metadata, spec } as Pod);
    await until(async () => (await this.#client.of(pods).get(metadata)).status?.phase !== "Pending");
    const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}/log`;
    const query = { follow: "true", timestamps: "true" };
    const stream = await this.#transport.streamBytes?.({ method: "GET", path, query, accept: "*/*" });
    let firstMs = 0;
    let lastMs = 0;
    for await (const piece of stream ?? []) {
      if (firstMs === 0) firstMs = Date.parse(piece.toString("latin1").split(" ", 1)[0] ?? "");
      lastMs = performance.timeOrigin + performance.now();
    }
    return (lines * (messageBytes + 1)) / 1e3 / (lastMs - firstMs);
  }

  /**
   * Starts a Run and follows it. The clock of the node has to be this machine's.
   *
   * @returns bytes that came, and seconds from the moment in which the agent had the first of them until the last was here
   */
  async #read(script: string): Promise<{ readonly received: number; readonly seconds: number }> {
    const run = await this.#start(script);
    let firstMs = 0;
    let lastMs = 0;
    let received = 0;
    for await (const { stream, time, message } of await this.#follow(run)) {
      if (stream !== "stdout") continue;
      if (received === 0) firstMs = Date.parse(time);
      received += message.length + 1;
      lastMs = performance.timeOrigin + performance.now();
    }
    return { received, seconds: (lastMs - firstMs) / 1000 };
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

/** Who follows a Run reads what its Pod printed in the two seconds before: that shall not be the Run before it. */
const quiet = () => new Promise((resolve) => setTimeout(resolve, 2500));

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 60_000; !(await holds()); ) {
    if (performance.now() > end) throw new Error("the Runtime has no ready Pod after a minute");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
