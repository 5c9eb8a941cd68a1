import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Krt, krt, processesBelow, workDirectory } from "../integration/support/krt.ts";

const runtime = `apiVersion: kruntimes.io/v1alpha1
kind: Runtime
metadata: {name: bash}
spec:
  template: {spec: {containers: [{name: runtime, image: debian}]}}
`;

const run = (name: string, script: string, more = "") => `apiVersion: kruntimes.io/v1alpha1
kind: Run
metadata: {name: ${name}}
spec:
  runtime: bash
  source:
    inline: |
${script.replace(/^/gm, "      ")}
${more}`;

const files: Record<string, string> = {
  "runtime.yaml": runtime,
  "failing.yaml": `apiVersion: kruntimes.io/v1alpha1
kind: Workflow
metadata: {name: failing}
spec:
  jobs:
    test:
      runs-on: bash
      steps:
        - {name: prepare, run: "true"}
        - name: check
          run: |
            echo "all is well so far"
            for i in $(seq 1 500); do echo "problem $i" >&2; done
            exit 7
        - {name: never, run: "true"}
    deploy:
      runs-on: bash
      needs: [test]
      steps:
        - {name: never, run: "true"}
    missing:
      runs-on: bash
      needs: [make]
      steps:
        - name: take
          artifacts: [{from: jobs.make.artifacts.dist.tgz, path: dist.tgz}]
          run: "true"
    make:
      runs-on: bash
      steps:
        - {name: nothing, run: "true"}
`,
  "refused.yaml": `apiVersion: kruntimes.io/v1alpha1
kind: Workflow
metadata:
  name: refused
spec:
  jobs:
    a:
      runs-on: bash
      timeout-minutes: 5
      steps:
        - name: one
          run: echo \${{ steps.two.outputs.x }}
`,
  "forever.yaml": run("forever", "echo started\n(setsid sleep 1000 &)\nsleep 1000"),
  "idle.yaml": `${runtime}  replicas: 0\n---\n${run("waiting", "true")}`,
};

let directory = "";

beforeAll(async () => {
  directory = await workDirectory();
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
});

afterAll(() => rm(directory, { recursive: true, force: true }));

const nothing = { directories: [], processes: [] };
const local = (...args: string[]) => krt(["local", "run", "--timeout", "40s", ...args], { cwd: directory });

test("failures end the command with 1 and say why, with the last words on stderr", async () => {
  const { code, out, err, left } = await local("runtime.yaml", "failing.yaml");
  expect({ code, err, left }).toEqual({ code: 1, err: "", left: nothing });
  const [progress = "", summary = ""] = out.split("\n\n");
  expect(progress.split("\n")).toEqual(
    expect.arrayContaining([
      "test/check Running",
      expect.stringMatching(/^test\/check Failed [\d.]+m?s ExitNonZero: exit code 7: problem \d+$/),
      expect.stringMatching(/^test\/never Skipped StepFailed: step check, which comes before it, did not succeed$/),
      expect.stringMatching(/^test Failed [\d.]+m?s StepFailed: /),
      "deploy Skipped NeedsNotSucceeded: job test, which it needs, ended as Failed",
      expect.stringMatching(/^missing Failed( [\d.]+m?s)? ArtifactMissing: .*dist\.tgz/),
    ]),
  );
  expect(summary).toMatch(/^✖ failing-\w{5} {2}Failed {2}/);
  expect(summary).toMatch(/✖ check {2}Failed .* exit code 7\n.*\n.*…\n(.* problem \d+\n)+.* problem 500\n/);
  expect(out).toMatch(/\ntest\/check failed: ExitNonZero: .+\n$/);
  expect(out).not.toContain("all is well so far");
});

test("what the API server refuses is told with file, line and advice, and nothing is run", async () => {
  const { code, out, err, left } = await local("runtime.yaml", "refused.yaml");
  expect({ code, out, left }).toEqual({ code: 2, out: "", left: nothing });
  expect(err).toMatch(
    /^refused\.yaml:9:7: Workflow refused: spec\.jobs\.a\.timeout-minutes: not supported\. .*\nkrt: 1 problem in the manifests; nothing was run\n$/,
  );
});

test("YAML that cannot be read is told with its place, from standard input too", async () => {
  const { code, out, err, left } = await krt(["local", "run", "-"], { input: "kind: Run\nmetadata: {name: a\n" });
  expect({ code, out, left }).toEqual({ code: 2, out: "", left: nothing });
  expect(err).toMatch(/^stdin:3:1: .+\nkrt: 1 problem in the manifests; nothing was run\n$/);
});

// A key press comes twice when a program in front of us passes it on: that is no second one.
const signals = { "Ctrl-C": ["SIGINT"], "Ctrl-C, passed on": ["SIGINT", "SIGINT"], "a kill": ["SIGTERM"] } as const;

test.each(Object.entries(signals))("%s ends everything, and the command with 130", async (_, names) => {
  const process = await Krt.start(["local", "run", "runtime.yaml", "forever.yaml", "--follow"], { cwd: directory });
  await process.until("forever | started\n");
  expect((await processesBelow(process.temporary)).length).toBeGreaterThan(2);
  for (const name of names) process.child.kill(name);
  const { code, out, err } = await process.ended;
  expect(await process.leftovers()).toEqual(nothing);
  await process.cleanUp();
  expect({ code, err }).toEqual({ code: 130, err: "" });
  expect(out).toContain("Interrupted: ending everything; another Ctrl-C leaves at once\n");
  expect(out).toMatch(/\n● forever {2}Running {2}.*\n$/);
});

test("a second Ctrl-C leaves at once, and nothing behind", async () => {
  const process = await Krt.start(["local", "run", "runtime.yaml", "forever.yaml", "--follow"], { cwd: directory });
  await process.until("forever | started\n");
  process.child.kill("SIGINT");
  process.child.kill("SIGTERM");
  expect((await process.ended).code).toBe(130);
  await expect.poll(() => process.leftovers(), { timeout: 10_000 }).toEqual(nothing);
  await process.cleanUp();
});

test("killed hard, it takes its processes with it", async () => {
  const process = await Krt.start(["local", "run", "runtime.yaml", "forever.yaml", "--follow"], { cwd: directory });
  await process.until("forever | started\n");
  process.child.kill("SIGKILL");
  await process.ended;
  await expect.poll(() => processesBelow(process.temporary), { timeout: 10_000 }).toEqual([]);
  await process.cleanUp();
});

test("a reader that goes away ends it, and everything", async () => {
  const process = await Krt.start(["local", "run", "runtime.yaml", "forever.yaml", "--follow"], { cwd: directory });
  await process.until("Created Run forever\n");
  process.child.stdout?.destroy();
  const { code } = await process.ended;
  expect(code).toBe(130);
  expect(await process.leftovers()).toEqual(nothing);
  await process.cleanUp();
});

test("what is not over in time is named, with what it waits for", async () => {
  const { code, out, err, left } = await local("idle.yaml", "--timeout", "6s");
  expect({ code, left }).toEqual({ code: 3, left: nothing });
  expect(out).toMatch(/^waiting waits: NoReadyPods: Runtime bash has no ready Pod\. /m);
  expect(err).toMatch(
    /^krt: not everything was over after 6s\n {5}waiting \(NoReadyPods: Runtime bash has no ready Pod\..*\)\n {5}Raise --timeout/,
  );
});

test("with --keep the directory stays, and artifacts and workspaces are where it says", async () => {
  const process = await Krt.start(["local", "run", "examples/data-sharing", "--keep", "-n", "own"]);
  const { code, out } = await process.ended;
  expect(code).toBe(0);
  const [, kept = ""] = /^Kept (\S+); remove it/m.exec(out) ?? [];
  expect(dirname(kept)).toBe(process.temporary);
  const [, artifact = ""] = /^ {2}artifact dist\.tgz: (.+)$/m.exec(out) ?? [];
  const [, digest] = /dist\.tgz {2}\d+ B {2}sha256:([0-9a-f]{64})/.exec(out) ?? [];
  const bytes = await readFile(artifact);
  expect(Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex")).toBe(digest);

  const pods = await readdir(join(kept, "pods"));
  const workspaces = await Promise.all(
    pods.map(async (pod) => {
      const path = join(kept, "pods", pod, "workspace/persistent");
      const names = await readdir(path).catch(() => []);
      return Promise.all(names.map((name) => readFile(join(path, name, "src/app.py"), "utf8").catch(() => undefined)));
    }),
  );
  expect(workspaces.flat()).toContain('print("hello")\n');
  const logs = await Promise.all(
    pods.map((pod) => readFile(join(kept, "pods", pod, "runtimed.log"), "utf8").catch(() => "")),
  );
  expect(logs.join("")).toContain('"artifact verified"');
  expect(await readFile(join(kept, "cluster.log"), "utf8")).toContain('"component":"local"');
  expect((await process.leftovers()).processes).toEqual([]);
  await process.cleanUp();
});

test("with --verbose the log of the cluster is shown on standard error", async () => {
  await mkdir(join(directory, "ok"), { recursive: true });
  await writeFile(join(directory, "ok/run.yaml"), run("ok", "true"));
  const { code, out, err, left } = await local("runtime.yaml", "ok", "--verbose");
  expect({ code, left }).toEqual({ code: 0, left: nothing });
  expect(err).toContain('"message":"Pod started"');
  expect(out).not.toContain("{");
});
