import { mkdtemp, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runs } from "#api/resources.ts";
import { bashRun } from "#test/integration/support/cluster.ts";
import { KubectlCluster } from "./support/kubectl.ts";

let cluster: KubectlCluster;
let directory: string;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  cluster = await KubectlCluster.start();
  await cluster.cluster.create(runs, bashRun("hello-world", "true"));
  directory = await mkdtemp(join(tmpdir(), "krt-plugin-"));
  // As npm installs them: links to what package.json names.
  const { bin } = createRequire(import.meta.url)("../../package.json") as { bin: Record<string, string> };
  for (const name of ["kubectl-krt", "kubectl_complete-krt"]) {
    await symlink(resolve(bin[name] ?? "missing"), join(directory, name));
  }
  env = { PATH: [directory, dirname(process.execPath), process.env.PATH].join(delimiter) };
});
afterAll(async () => {
  await cluster?.stop();
  await rm(directory, { recursive: true, force: true });
});

test("kubectl finds krt as a plug-in, and krt uses the kubeconfig of kubectl and its own name there", async () => {
  expect((await cluster.run(["plugin", "list"], "", env)).out).toContain(join(directory, "kubectl-krt"));
  const { code, out } = await cluster.run(["krt", "list", "-n", "default"], "", env);
  expect([code, out]).toEqual([0, expect.stringMatching(/^hello-world /m)]);
  expect((await cluster.run(["krt", "list", "--help"], "", env)).out).toMatch(/^Usage: kubectl krt list/);
});

/** What kubectl's completion offers behind these words, and whether the shell may offer names of files. */
const cases: Record<string, { words: string[]; want: string[] }> = {
  "a command": { words: ["descr"], want: ["describe", ":4"] },
  "a name of what is in the cluster": { words: ["logs", "-n", "default", "hel"], want: ["hello-world", ":4"] },
  "a name of which nothing is typed yet": { words: ["get", "-n", "default", ""], want: ["hello-world", ":4"] },
  "nothing that fits": { words: ["get", "-n", "default", "other"], want: [":0"] },
  "a flag": { words: ["logs", "--ta"], want: ["--tail", ":4"] },
  "a file": { words: ["workflow", "lint", ""], want: [":0"] },
};

test.each(Object.entries(cases))("kubectl completes %s behind kubectl krt", async (_, { words, want }) => {
  const { code, out } = await cluster.run(["__complete", "krt", ...words], "", env);
  expect([code, out.split("\n").filter((line) => line !== "" && !line.startsWith("Completion ended"))]).toEqual([
    0,
    want,
  ]);
});
