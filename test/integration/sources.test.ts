import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import { runs, runtimes } from "#api/resources.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { bashRun, bashRuntime, claim, namespace, TestCluster } from "./support/cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(runtimes, bashRuntime());
  await cluster.create(runtimes, bashRuntime({ server: { interpreter: "python" } }, "python"));
  await cluster.create(runtimes, bashRuntime({ server: { interpreter: "node" } }, "node"));
  await cluster.create(runtimes, bashRuntime({ server: { command: ["bash", "-x"] } }, "argv"));
  for (const name of ["bash", "python", "node", "argv"]) await cluster.ready(name, 1);
});
afterAll(() => cluster.stop());

/** What a Run printed. */
async function outputOf({ metadata }: Run): Promise<string[]> {
  return (await cluster.logOf(metadata.name)).map(({ message }) => message);
}

function run(name: string, runtime: string, inline: string, change: Partial<Run["spec"]> = {}): Promise<Run> {
  return cluster.create(runs, { metadata: { name, namespace }, spec: { runtime, source: { inline }, ...change } });
}

test("bash, python and node run scripts without a first line `#!`", async () => {
  expect(await outputOf(await run("b", "bash", "echo $((20 + 1))"))).toEqual(["21"]);
  expect(await outputOf(await run("p", "python", "print(20 + 2)"))).toEqual(["22"]);
  expect(await outputOf(await run("n", "node", "console.log(20 + 3)"))).toEqual(["23"]);
});

test("a first line `#!` is honoured, whatever the Runtime's interpreter is", async () => {
  expect(await outputOf(await run("shebang", "bash", "#!/usr/bin/env python3\nprint('python')"))).toEqual(["python"]);
});

test("a command of the Runtime's own gets the script's path and the arguments", async () => {
  const mode = { task: { args: ["one", "two words"] } };
  expect(await outputOf(await run("a", "argv", 'echo "$2"', { mode }))).toContain("two words");
});

test("without a source the arguments are the command", async () => {
  const made = await cluster.create(runs, {
    metadata: { name: "command", namespace },
    spec: { runtime: "bash", mode: { task: { args: ["printf", "%s-%s\\n", "a b", "$HOME"] } } },
  });
  expect(await outputOf(made)).toEqual(["a b-$HOME"]);
});

test("a command that does not exist is StartFailed, with what to look at", async () => {
  await cluster.create(runs, {
    metadata: { name: "nothing", namespace },
    spec: { runtime: "bash", mode: { task: { args: ["no-such-program"] } } },
  });
  const { status } = await cluster.finished("nothing");
  expect(status).toMatchObject({ phase: "Failed", reason: "StartFailed" });
  expect(status?.message).toContain("no-such-program");
});

test("a script of 256 KiB runs", async () => {
  const script = `echo begin\n${`# ${"x".repeat(1021)}\n`.repeat(255)}echo end\n`;
  expect(script.length).toBeGreaterThan(255 * 1024);
  expect(await outputOf(await run("large", "bash", script))).toEqual(["begin", "end"]);
});

test("the environment: the Run's variables win over the container's, ours over both, and no token is near", async () => {
  const script =
    'echo "$GREETING|$KRUNTIME_RUN_NAME|$KRUNTIME_ATTEMPT|$KRUNTIME_NAMESPACE"; test -w "$HOME" && test -w "$TMPDIR"; env';
  const [first, ...rest] = await outputOf(
    await run("env", "bash", script, { env: [{ name: "GREETING", value: "hello" }] }),
  );
  expect(first).toBe(`hello|env|1|${namespace}`);
  const token = readFile(`${cluster.directory}/token`, "utf8");
  const all = rest.join("\n");
  expect(all).not.toContain(await token);
  expect(all).not.toMatch(/KRUNTIMES_|TOKEN/);
  expect((await cluster.get(runs, "env")).status?.phase).toBe("Succeeded");
});

/** The state of a process as the kernel tells it. */
async function stateOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  return stat === undefined ? "gone" : (/\) (\w) /.exec(stat)?.[1] ?? "");
}

const hostile: Record<string, { script: string; reason: string; says: string }> = {
  "an outputs file that is not UTF-8": {
    script: "printf 'k=\\xff\\n' >> $KRUNTIME_OUTPUTS",
    reason: "OutputsInvalid",
    says: "UTF-8",
  },
  "a line without =": { script: "echo nonsense >> $KRUNTIME_OUTPUTS", reason: "OutputsInvalid", says: "line 1" },
  "too many outputs": {
    script: "for i in $(seq 65); do echo k$i=v >> $KRUNTIME_OUTPUTS; done",
    reason: "OutputsTooLarge",
    says: "64",
  },
  "an output that is too long": {
    script: "echo k=$(head -c 8193 /dev/zero | tr '\\0' x) >> $KRUNTIME_OUTPUTS",
    reason: "OutputsTooLarge",
    says: "8",
  },
  "an outputs file replaced by a link": {
    script: "ln -sf /etc/passwd $KRUNTIME_OUTPUTS",
    reason: "OutputsInvalid",
    says: "outputs",
  },
  "a link among the artifacts": {
    script: 'ln -s /etc/passwd "$KRUNTIME_ARTIFACTS_DIR/passwd"',
    reason: "ArtifactInvalid",
    says: "passwd",
  },
  "a link deep inside a directory artifact": {
    script: 'mkdir -p "$KRUNTIME_ARTIFACTS_DIR/d/e" && ln -s / "$KRUNTIME_ARTIFACTS_DIR/d/e/root"',
    reason: "ArtifactInvalid",
    says: "root",
  },
  "a pipe among the artifacts": {
    script: 'mkfifo "$KRUNTIME_ARTIFACTS_DIR/pipe"',
    reason: "ArtifactInvalid",
    says: "pipe",
  },
  "too many artifacts": {
    script: 'for i in $(seq 33); do touch "$KRUNTIME_ARTIFACTS_DIR/$i"; done',
    reason: "ArtifactInvalid",
    says: "32",
  },
};

test.each(Object.entries(hostile))("%s is a final failure with its reason", async (name, { script, reason, says }) => {
  const id = `hostile-${name.replaceAll(/[^A-Za-z]+/g, "-").toLowerCase()}x`;
  await cluster.create(runs, bashRun(id, script, { retryPolicy: { maxAttempts: 5 } }));
  const { status } = await cluster.finished(id);
  expect(status).toMatchObject({ phase: "Failed", reason, attempt: 1 });
  expect(status?.message).toContain(says);
});

test("output that is no UTF-8 neither harms the Run nor gets lost", async () => {
  await run("binary", "bash", "printf 'a\\xff\\xfeb\\n'");
  const records = await cluster.logOf("binary");
  expect((await cluster.get(runs, "binary")).status?.phase).toBe("Succeeded");
  expect(
    records.map(({ message, encoding }) =>
      Buffer.from(message, encoding === "base64" ? "base64" : "utf8").toString("hex"),
    ),
  ).toEqual(["61fffe62"]);
});

test("a program that leaves the process group and ignores SIGTERM is gone before a cancelled Run ends", async () => {
  const directory = await mkdtemp(join(tmpdir(), "krt-test-"));
  await run(
    "escape",
    "bash",
    `trap '' TERM; setsid bash -c "trap '' TERM; echo \\$\\$ > ${directory}/pid; sleep 600" & wait; sleep 600`,
  );
  await cluster.until(runs, "escape", (one) => one.status?.phase === "Running");
  await expect.poll(() => readFile(`${directory}/pid`, "utf8").catch(() => "")).not.toBe("");
  const pid = Number(await readFile(`${directory}/pid`, "utf8"));
  await cluster.client.of(runs).patch({ name: "escape", namespace }, { spec: { termination: { mode: "Immediate" } } });
  expect((await cluster.finished("escape")).status?.phase).toBe("Cancelled");
  expect(await stateOf(pid)).toMatch(/^(gone|Z)$/); // a zombie waits for PID 1, which in a Pod is tini
  await rm(directory, { recursive: true });
});

test("a Git source that cannot be reached is SourceFailed with the error of git", async () => {
  await cluster.create(runs, {
    metadata: { name: "git", namespace },
    spec: { runtime: "bash", source: { repoURL: "https://127.0.0.1:1/repo.git" }, timeout: "20s" },
  });
  const { status } = await cluster.finished("git");
  expect(status).toMatchObject({ phase: "Failed", reason: "SourceFailed" });
});
