/** `krt` as people have it, with a kubeconfig of their own. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { inject } from "vitest";
import { loadClusterAccess } from "#kube/kubeconfig.ts";
import type { Outcome } from "./support.ts";

const program = join(import.meta.dirname, "../../bin/krt.mjs");

/** A kubeconfig for the cluster of the tests with one user, and krt with it; removed with its directory. */
export class KrtUser implements AsyncDisposable {
  readonly kubeconfig: string;
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
    this.kubeconfig = join(directory, "kubeconfig");
  }

  /** @param user as in a kubeconfig: token, client certificate, exec plug-in; `directory` is where it may keep files */
  static async make(user: (directory: string) => Promise<object> | object): Promise<KrtUser> {
    const directory = await mkdtemp(join(tmpdir(), "krt-user-"));
    const krt = new KrtUser(directory);
    const { server, credentials } = loadClusterAccess({ file: inject("kubeconfig") });
    const ca = (await credentials(false)).tls?.ca ?? "";
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server, "certificate-authority-data": Buffer.from(ca).toString("base64") } }],
      users: [{ name: "u", user: await user(directory) }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    };
    await writeFile(krt.kubeconfig, JSON.stringify(config), { mode: 0o600 });
    return krt;
  }

  /** Runs krt. `onOutput` is told its output as it comes. */
  async run(args: readonly string[], onOutput: (text: string) => void = () => {}): Promise<Outcome> {
    const child = spawn(process.execPath, [program, ...args], {
      env: { ...process.env, KUBECONFIG: this.kubeconfig },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      stdout += part;
      onOutput(stdout);
    });
    const [stderr, code] = await Promise.all([
      text(child.stderr),
      new Promise<number>((resolve) => child.once("close", (ended) => resolve(ended ?? 1))),
    ]);
    return { code, stdout, stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}
