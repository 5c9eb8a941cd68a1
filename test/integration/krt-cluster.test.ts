import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import type { JobSpec } from "#api/kinds/job.ts";
import { actions, runs, runtimes, workflowActions, workflowRuns, workflows } from "#api/resources.ts";
import { Capture } from "#cli/testing/capture.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { bashRun, bashRuntime, claim, namespace, TestCluster, workflowRun } from "./support/cluster.ts";
import { krtHere, withInput } from "./support/krt-in-process.ts";

let cluster: TestCluster;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "krt-test-"));
  cluster = await TestCluster.start();
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(runtimes, bashRuntime());
  await cluster.create(runtimes, bashRuntime({ replicas: 0 }, "idle"));
  await cluster.ready("bash", 1);
});
afterAll(async () => {
  await cluster.stop();
  await rm(directory, { recursive: true, force: true });
});

type WorkflowJobs = Parameters<typeof workflowRun>[1];

const typeOf = ({ kind }: { kind: string }) => ({ apiVersion: "kruntimes.io/v1alpha1", kind });

const krt = (...args: string[]) => krtHere(cluster.cluster.kubeconfig, args);
const lines = (text: string) => text.trimEnd().split("\n");

test("run shows both streams where the program wrote them, and ends with its exit code", async () => {
  const ended = await krt("run", "--name", "seven", "--", "sh", "-c", "echo out; echo err >&2; exit 7");
  expect(ended).toEqual({
    code: 7,
    out: "out\n",
    err: expect.stringMatching(/^err\nkrt: Run seven ended as Failed: ExitNonZero: exit code 7/),
  });
});

test("run passes every flag on to the server", async () => {
  const flags = ["--runtime", "bash", "--env", "A=1", "--env", "B=x=y", "--timeout", "90s", "--retries", "2"];
  const ended = await krtHere(
    cluster.cluster.kubeconfig,
    ["run", "--name", "flags", ...flags, "--file", "-", "--", "one", "-n"],
    withInput('echo "$A $B $1 $2"; printf "no end"\n'),
  );
  expect(ended).toEqual({ code: 0, out: "1 x=y one -n\nno end", err: "" });
  expect((await cluster.get(runs, "flags")).spec).toMatchObject({
    runtime: "bash",
    env: [
      { name: "A", value: "1" },
      { name: "B", value: "x=y" },
    ],
    timeout: "1m30s",
    retryPolicy: { maxAttempts: 3 },
    mode: { task: { args: ["one", "-n"] } },
  });
});

test("bytes that are no text arrive as they are", async () => {
  const parts: Uint8Array[] = [];
  const out = { write: (part: string | Uint8Array) => parts.push(Buffer.from(part)) };
  const change = {
    out: { ...out, isTerminal: false, color: false, columns: () => 80, rows: () => 24, onResize: () => () => {} },
  };
  const { code } = await krtHere(cluster.cluster.kubeconfig, ["run", "--", "printf", "a\\377\\000b\\n"], change);
  expect(code).toBe(0);
  expect(Buffer.concat(parts)).toEqual(Buffer.from([0x61, 0xff, 0, 0x62, 0x0a]));
});

test("a Run over its time ends the command with 124, a program that cannot start with 125", async () => {
  const late = await krt("run", "--name", "late", "--timeout", "300ms", "--", "sleep", "30");
  expect(late.code).toBe(124);
  expect(late.err).toMatch(/krt: Run late ended as Timeout: .*\n {5}Raise the timeout/);
  const missing = await krt("run", "--name", "missing", "--", "/no/such/program");
  expect(missing.err).toContain("krt: Run missing ended as Failed: ");
  expect([125, 127]).toContain(missing.code);
});

const answers = {
  "Ctrl-C and yes": { answer: "y", phase: "Cancelled", code: 130 },
  "Ctrl-C where nobody can be asked": { answer: undefined, phase: "Cancelled", code: 130 },
  "Ctrl-C and detach": { answer: "d", phase: "Running", code: 130 },
} as const;

test.each(Object.entries(answers))("%s", async (what, { answer, phase, code }) => {
  const name = what.toLowerCase().replace(/\W+/g, "-");
  const interrupt = new AbortController();
  const asked: string[] = [];
  const change = {
    interrupted: interrupt.signal,
    ask: async (question: string) => {
      asked.push(question);
      return answer;
    },
  };
  const ended = krtHere(cluster.cluster.kubeconfig, ["run", "--name", name, "--", "sleep", "60"], change);
  await cluster.until(runs, name, ({ status }) => status?.phase === "Running");
  interrupt.abort();
  expect((await ended).code).toBe(code);
  expect(asked).toHaveLength(1);
  expect((await cluster.get(runs, name)).status?.phase).toBe(phase);
  if (phase === "Running") expect((await krt("cancel", name)).out).toBe(`Run ${name} is asked to end\n`);
});

const endings = {
  "a workflow, Ctrl-C and yes": { answer: "y", phase: "Failed", says: "Stopping WorkflowRun" },
  "a workflow, Ctrl-C where nobody can be asked": { answer: undefined, phase: "Failed", says: "Stopping WorkflowRun" },
  "a workflow, Ctrl-C and detach": { answer: "d", phase: "Running", says: "workflow watch" },
} as const;

test.each(Object.entries(endings))("%s", async (_, { answer, phase, says }) => {
  const interrupt = new AbortController();
  const asked: string[] = [];
  const change = {
    interrupted: interrupt.signal,
    ask: async (question: string) => {
      asked.push(question);
      return answer;
    },
  };
  const name = `stop-${phase.toLowerCase()}-${answer ?? "nobody"}`;
  const file = withInput(
    JSON.stringify({
      apiVersion: "kruntimes.io/v1alpha1",
      kind: "WorkflowRun",
      metadata: { name },
      spec: { jobs: { build: { "runs-on": "bash", steps: [{ name: "one", run: "exec sleep 60" }] } } },
    }),
  );
  const args = ["workflow", "run", "-f", "-", "--follow"];
  const ended = krtHere(cluster.cluster.kubeconfig, args, { ...change, ...file });
  await cluster.until(workflowRuns, name, ({ status }) => status?.jobs?.build?.steps?.[0]?.phase === "Running");
  interrupt.abort();
  expect(await ended).toMatchObject({ code: 130, err: expect.stringContaining(says) });
  expect(asked).toEqual([`\nStop WorkflowRun ${name}? [y]es, [n]o, [d]etach and leave it running: `]);
  expect((await cluster.get(workflowRuns, name)).status?.phase).toBe(phase);
  const { items } = await cluster.client.of(workflowActions).list({ namespace });
  const actions = items.filter(({ spec }) => spec.workflowRef.name === name);
  expect(actions.map(({ spec }) => spec.action)).toEqual(phase === "Running" ? [] : ["Stop"]);
  await cluster.client.of(workflowRuns).delete({ name, namespace });
});

test("a second Ctrl-C, while the question stands, is a yes", async () => {
  const interrupt = new AbortController();
  let second = () => {};
  const asked = Promise.withResolvers<void>();
  const change = {
    interrupted: interrupt.signal,
    onSecondInterrupt: (listener: () => void) => {
      second = listener;
      return () => {};
    },
    ask: (_: string, signal?: AbortSignal) => {
      asked.resolve();
      return new Promise<undefined>((resolve) => signal?.addEventListener("abort", () => resolve(undefined)));
    },
  };
  const ended = krtHere(cluster.cluster.kubeconfig, ["run", "--name", "twice", "--", "sleep", "60"], change);
  await cluster.until(runs, "twice", ({ status }) => status?.phase === "Running");
  interrupt.abort();
  await asked.promise;
  second();
  expect(await ended).toMatchObject({ code: 130, err: expect.stringContaining("Cancelling Run twice") });
  expect((await cluster.get(runs, "twice")).spec.termination).toEqual({ mode: "Immediate" });
});

test("list filters on the server by phase, Runtime and label, and shows the columns of kubectl", async () => {
  await cluster.create(runs, {
    ...bashRun("listed", "true"),
    metadata: { name: "listed", namespace, labels: { a: "b" } },
  });
  await cluster.finished("listed");
  const [header, row] = lines((await krt("list", "-l", "a=b")).out);
  expect(header?.split(/ {3,}/)).toEqual(["NAME", "RUNTIME", "PHASE", "REASON", "POD", "AGE"]);
  expect(row).toMatch(/^listed {3,}bash {3,}Succeeded {3,}runtime-bash-\S+ {3,}\d+s$/);
  expect(lines((await krt("ls", "-A", "-l", "a=b", "-o", "wide")).out)[0]).toMatch(
    /^NAMESPACE .* AGE +ATTEMPT +DURATION +MESSAGE$/,
  );
  expect((await krt("list", "-l", "a=b", "--phase", "failed,timeout")).err).toBe(
    "There is no Run like that in namespace default.\n",
  );
  expect((await krt("list", "-r", "bash", "-l", "a=b", "-o", "name")).out).toBe("run.kruntimes.io/listed\n");
  expect((await krt("list", "-r", "idle", "-o", "name")).out).toBe("");
  const path = "jsonpath={range .items[*]}{.metadata.name}={.status.phase}{end}";
  expect((await krt("list", "-l", "a=b", "-o", path)).out).toBe("listed=Succeeded");
});

test("get shows data that can be applied again, and tells of every name that is not there", async () => {
  const { code, out, err } = await krt("get", "listed", "lisetd", "-o", "yaml");
  expect({ code, err }).toEqual({
    code: 5,
    err: "krt: there is no Run lisetd in namespace default\n     Did you mean listed?\n",
  });
  const [list] = parseAllDocuments(out).map((document) => document.toJS());
  expect(list).toMatchObject({ kind: "List", items: [{ apiVersion: "kruntimes.io/v1alpha1", kind: "Run" }] });
});

test("a name of another kind is told with the commands for that", async () => {
  const spec = { jobs: { a: { "runs-on": "bash", steps: [{ name: "s", run: "true" }] } } };
  await cluster.create(workflows, { metadata: { name: "taken", namespace }, spec });
  await cluster.create(workflowRuns, { metadata: { name: "taken-1", namespace }, spec });
  const here = "     There is a WorkflowRun taken-1: `krt workflow get taken-1` shows it, ";
  for (const args of [
    ["get", "taken-1"],
    ["logs", "taken-1"],
    ["describe", "wfr/taken-1"],
  ]) {
    expect(await krt(...args)).toMatchObject({ code: 5, err: expect.stringContaining(here) });
  }
  expect((await krt("workflow", "watch", "taken")).err).toBe(
    "krt: there is no WorkflowRun taken in namespace default\n" +
      "     There is a Workflow taken: `krt workflow list --workflow taken` lists its runs.\n",
  );
  await cluster.client.of(workflows).delete({ name: "taken", namespace });
});

test("a name may have its kind before it, and a word that is a kind is told as one", async () => {
  await krt("run", "--name", "called", "--", "echo", "said");
  const [row] = (await krt("list", "-o", "name")).out.split("\n").filter((line) => line.endsWith("/called"));
  expect(row).toBe("run.kruntimes.io/called");
  expect((await krt("get", row ?? "")).out).toMatch(/^called +bash +Succeeded/m);
  expect((await krt("logs", "run.kruntimes.io/called")).out).toBe("said\n");
  expect(await krt("get", "runs")).toMatchObject({
    code: 5,
    err: "krt: there is no Run runs in namespace default\n     `krt list` lists Runs; a name stands without its kind.\n",
  });
  expect((await krt("delete", "run/called")).out).toBe("Run called deleted\n");
});

test("what is there already is told as that", async () => {
  const err =
    "krt: there is a Run seven in namespace default already\n" +
    "     Choose another name, or leave it out: then the server makes one up.\n";
  expect(await krt("run", "--name", "seven", "--", "true")).toEqual({ code: 5, out: "", err });
});

test("an action on a WorkflowRun that is not there tells which are", async () => {
  expect(await krt("workflow", "stop", "taken-2")).toEqual({
    code: 2,
    out: "",
    err: "krt: Stop of taken-2: there is no WorkflowRun taken-2 in namespace default\n     Did you mean taken-1?\n",
  });
});

test("describe tells why a Run waits, and what to do", async () => {
  await cluster.create(runs, bashRun("waiting", "true", { runtime: "nowhere" }));
  await cluster.until(runs, "waiting", ({ status }) => status?.reason === "RuntimeNotFound");
  const { out } = await krt("describe", "waiting");
  expect(out).toMatch(/^Name: +waiting$/m);
  expect(out).toMatch(/^Reason: +RuntimeNotFound$/m);
  expect(out).toMatch(/^Advice: +\S.+$/m);
  expect((await krt("describe", "late")).out).toMatch(/^Phase: +Timeout$/m);
});

test("wait fails for what fails, is late, is deleted or was never there", async () => {
  expect(await krt("wait", "listed", "seven")).toEqual({
    code: 1,
    out: "Run listed ended as Succeeded\n",
    err: expect.stringMatching(/^krt: Run seven ended as Failed: ExitNonZero/),
  });
  const late = await krt("wait", "waiting", "--timeout", "100ms");
  expect(late.code).toBe(3);
  expect(late.err).toMatch(/^krt: Run waiting had not ended after 100ms\n/);
  const waiting = krt("wait", "waiting");
  await krt("delete", "waiting");
  expect((await waiting).code).not.toBe(0);
  expect((await krt("wait", "never")).code).toBe(5);
});

test("logs: all, the newest lines, and what comes until the end", async () => {
  const script = "for n in 1 2 3; do echo line $n; done; echo oops >&2";
  await cluster.create(runs, bashRun("talks", script));
  expect(await krt("logs", "talks", "-f")).toEqual({ code: 0, out: "line 1\nline 2\nline 3\n", err: "oops\n" });
  expect((await krt("logs", "talks", "--tail", "2")).out).toBe("line 3\n");
  expect((await krt("logs", "talks", "--timestamps")).out).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z line 1\n/);
  expect((await krt("logs", "talks", "--attempt", "2")).out).toBe("");
});

test("logs --since and --since-time leave out what is older", async () => {
  expect((await krt("logs", "run/talks", "--since", "1h")).out).toBe("line 1\nline 2\nline 3\n");
  expect((await krt("logs", "talks", "--since-time", "2099-01-01T00:00:00Z")).out).toBe("");
  expect((await krt("logs", "talks", "--since", "1h", "--since-time", "2099-01-01T00:00:00Z")).code).toBe(2);
  expect(await krt("logs", "pod/talks")).toMatchObject({
    code: 2,
    err: "krt: pod/talks names neither a Run nor a WorkflowRun\n     Write NAME or workflowrun/NAME.\n",
  });
});

test("logs of a whole workflow: each line with its job and step, in their order or as they come", async () => {
  const step = (name: string, run: string) => ({ name, run });
  const jobs = {
    second: { "runs-on": "bash", needs: ["first"], steps: [step("only", "echo c; echo d >&2")] },
    first: { "runs-on": "bash", steps: [step("one", "echo a"), step("two", "sleep 0.2; printf b")] },
  };
  await cluster.create(workflowRuns, { metadata: { name: "chatty", namespace }, spec: { jobs } });
  const followed = await krt("logs", "-f", "workflowrun/chatty");
  expect(followed).toEqual({
    code: 0,
    out: "first/one | a\nfirst/two | b\nsecond/only | c\n",
    err: "second/only | d\n",
  });
  expect(await krt("logs", "wfr/chatty")).toEqual(followed);
  const { out } = await krt("logs", "wfr/chatty", "--timestamps", "--tail", "1");
  expect(out).toMatch(/^first\/one \| \d{4}-\d\d-\d\dT[\d:.]+Z a\n/);
  expect((await krt("logs", "wfr/nobody")).code).toBe(5);
  // On a terminal each step has another color.
  const terminal = new Capture({ isTerminal: true, color: true });
  await krtHere(cluster.cluster.kubeconfig, ["logs", "wfr/chatty"], { out: terminal });
  expect(lines(terminal.text)).toEqual([
    "\u001b[36mfirst/one | \u001b[0ma",
    "\u001b[33mfirst/two | \u001b[0mb",
    "\u001b[32msecond/only | \u001b[0mc",
  ]);
});

test("logs of a whole workflow show every attempt of its jobs, also while it is followed", async () => {
  const jobs: Record<string, JobSpec> = {
    flaky: {
      "runs-on": "bash",
      retry: { attempts: 2, backoff: "0s" },
      steps: [
        { name: "try", run: "echo try ${{ job.attempt }}; test ${{ job.attempt }} -gt 1" },
        { name: "then", run: "echo then" },
      ],
    },
    wait: {
      needs: ["flaky"],
      "runs-on": "bash",
      steps: [
        { name: "gate", suspend: {} },
        { name: "late", run: "echo late" },
      ],
    },
  };
  await cluster.create(workflowRuns, workflowRun("again", jobs));
  await cluster.until(workflowRuns, "again", ({ status }) => status?.jobs?.wait?.steps?.[0]?.phase === "Suspended");
  // The first attempt ended before anybody watched.
  const followed = krt("logs", "-f", "workflowrun/again");
  await krt("workflow", "resume", "again");
  const flaky = "flaky (attempt 1)/try | try 1\nflaky (attempt 2)/try | try 2\nflaky (attempt 2)/then | then\n";
  const { code, out, err } = await followed;
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(lines(out).sort()).toEqual([...lines(flaky), "wait/late | late"].sort());
  expect(out.indexOf("try 1")).toBeLessThan(out.indexOf("try 2"));
  expect(await krt("logs", "wfr/again")).toEqual({ code: 0, out: `${flaky}wait/late | late\n`, err: "" });
  expect((await krt("logs", "wfr/again", "--attempt", "2")).out).toBe(flaky.slice(flaky.indexOf("\n") + 1));
  expect((await krt("delete", "-l", "workflows.kruntimes.io/job=flaky,workflows.kruntimes.io/attempt=1")).code).toBe(0);
  const gone = "krt: the Runs of flaky (attempt 1) are gone, with what they printed\n";
  const left = `${flaky.slice(flaky.indexOf("\n") + 1)}wait/late | late\n`;
  expect(await krt("logs", "wfr/again")).toEqual({ code: 0, out: left, err: gone });
});

test("workflow run --follow shows what every attempt printed, however short it was", async () => {
  const step = { name: "make", run: "echo this is ${{ job.attempt }}; exit 1" };
  const short: WorkflowJobs = { a: { "runs-on": "bash", retry: { attempts: 3, backoff: "0s" }, steps: [step] } };
  const file = stringify({ ...workflowRun("short", short), ...typeOf(workflowRuns) });
  const run = () => krtHere(cluster.cluster.kubeconfig, ["wf", "run", "-f", "-", "--follow"], withInput(file));
  const { code, out } = await run();
  expect(code).toBe(1);
  const said = lines(out).filter((line) => line.includes(" | "));
  expect(said.map((line) => line.replace(/^.* \| /, ""))).toEqual(["this is 1", "this is 2", "this is 3"]);
  expect(await run()).toMatchObject({
    code: 2,
    err: expect.stringMatching(
      /^stdin:\d+:\d+: WorkflowRun short: there is one of that name already\. Choose another name, /,
    ),
  });
});

test("logs of a Run that has not begun tell why they are empty", async () => {
  await cluster.create(runs, bashRun("mute", "true", { runtime: "nowhere" }));
  await cluster.until(runs, "mute", ({ status }) => status?.reason === "RuntimeNotFound");
  const { code, out, err } = await krt("logs", "mute");
  expect({ code, out }).toEqual({ code: 0, out: "" });
  expect(err).toMatch(/^krt: Run mute has not begun: RuntimeNotFound: .+\n$/);
  const followed = krt("logs", "-f", "mute");
  await krt("cancel", "mute");
  expect((await followed).code).toBe(0);
  expect((await krt("logs", "mute")).err).toMatch(/^krt: Run mute never ran: it ended as Cancelled: /);
});

test("delete takes names, or filters, and never everything by accident", async () => {
  expect((await krt("delete")).code).toBe(2);
  expect((await krt("delete", "talks", "--phase", "Failed")).code).toBe(2);
  expect((await krt("delete", "-l", "a=b")).out).toBe("Run listed deleted\n");
  expect((await krt("delete", "-l", "a=b")).err).toMatch(/^krt: there is no Run like that/);
});

test("a workflow is run from files, followed with its output, shown, and its artifact downloaded", async () => {
  const followed = await krt("workflow", "run", "-f", "examples/data-sharing/workflow.yaml", "--follow");
  expect(followed.err).toBe("Workflow ci-data-sharing-demo created\n");
  expect(followed.code).toBe(0);
  expect(followed.out).toMatch(/^build\/checkout Succeeded/m);
  const [, name = ""] = /^✔ (ci-data-sharing-demo-\S+) {2}Succeeded/m.exec(followed.out) ?? [];

  expect((await krt("wf", "ls", "-w", "ci-data-sharing-demo", "--phase", "succeeded")).out).toContain(name);
  expect((await krt("wf", "ls", "--templates", "-o", "name")).out).toBe("workflow.kruntimes.io/ci-data-sharing-demo\n");
  expect((await krt("wf", "get", name)).out).toMatch(/^✔ .*\n├─ ✔ build/);
  expect((await krt("wf", "watch", name)).code).toBe(0);
  expect((await krt("artifact", "list", name)).out).toMatch(/^build\/dist\.tgz +File /m);
  const to = join(directory, "dist.tgz");
  expect(await krt("artifact", "download", name, "dist.tgz", "--to", to)).toMatchObject({ code: 0, out: `${to}\n` });
  const digest = Buffer.from(await crypto.subtle.digest("SHA-256", await readFile(to))).toString("hex");
  expect((await krt("artifact", "list", name, "-o", "json")).out).toContain(`sha256:${digest}`);
  expect((await krt("artifact", "download", name, "dist.tgz", "--to", to)).code).toBe(1);

  const again = await krt("workflow", "run", "ci-data-sharing-demo", "--name", "second");
  expect(again).toEqual({ code: 0, out: "second\n", err: "" });
  expect((await krt("wf", "watch", "second", "--output")).code).toBe(0);
});

test("what happens in Workflows that jobs use, and in Actions, is followed, drawn and read like the rest", async () => {
  const step = (name: string, run: string) => ({ name, run });
  await cluster.create(actions, { metadata: { name: "greet", namespace }, spec: { steps: [step("say", "echo hi")] } });
  const deep = { deep: { "runs-on": "bash", steps: [step("dig", "echo deep")] } };
  await cluster.create(workflows, { metadata: { name: "deepest", namespace }, spec: { jobs: deep } });
  const middle: Record<string, JobSpec> = {
    mid: { "runs-on": "bash", steps: [step("go", "echo mid")] },
    down: { uses: "deepest", needs: ["mid"] },
  };
  await cluster.create(workflows, { metadata: { name: "middle", namespace }, spec: { jobs: middle } });
  const top: Record<string, JobSpec> = {
    first: { "runs-on": "bash", steps: [{ name: "use", uses: "greet" }] },
    call: { uses: "middle", needs: ["first"] },
  };
  await cluster.create(workflows, { metadata: { name: "top", namespace }, spec: { jobs: top } });
  const followed = await krt("workflow", "run", "top", "--name", "nested", "--follow");
  expect(followed).toMatchObject({ code: 0, err: "" });
  const outputs = ["first/use | hi", "call/mid/go | mid", "call/down/deep/dig | deep"];
  expect(lines(followed.out).filter((line) => line.includes(" | "))).toEqual(outputs);
  expect(followed.out).toMatch(/^call\/down\/deep\/dig Succeeded/m);
  expect(followed.out).toMatch(/^first\/use\/say Succeeded/m);
  const names = (text: string) => lines(text).map((line) => line.replace(/ {2}Succeeded.*$/, ""));
  const tree = [
    "✔ nested",
    "├─ ✔ first",
    "│  └─ ✔ use",
    "│     └─ ✔ say",
    "└─ ✔ call",
    "   ├─ ✔ mid",
    "   │  └─ ✔ go",
    "   └─ ✔ down",
    "      └─ ✔ deep",
    "         └─ ✔ dig",
  ];
  const shown = names((await krt("workflow", "get", "nested")).out);
  expect(shown).toEqual(tree);
  expect(names(followed.out).slice(-tree.length)).toEqual(tree);
  expect(lines((await krt("logs", "wfr/nested")).out)).toEqual(outputs);
  expect(lines((await krt("logs", "-f", "wfr/nested")).out)).toEqual(outputs);
  expect((await krt("workflow", "retry", "nested")).err).toMatch(
    /\n {5}Run jobs again that succeeded with krt workflow retry nested --restart-successful --node-field-selector job=JOB\.\n$/,
  );
});

test("workflow run refuses what would wait for a Runtime that is not there, with the jobs and the Runtimes that are", async () => {
  const steps = [{ name: "s", run: "echo ran" }];
  const spec = { jobs: { build: { "runs-on": "bsh", steps }, other: { "runs-on": "bash", steps } } };
  await cluster.create(workflows, { metadata: { name: "waits", namespace }, spec });
  const want = "krt: job build cannot run: there is no Runtime bsh in namespace default\n     Did you mean bash?\n";
  expect(await krt("workflow", "run", "waits")).toEqual({ code: 5, out: "", err: want });
  const file = (jobs: object) =>
    stringify({ ...workflowRun("waits-too", jobs as WorkflowJobs), ...typeOf(workflowRuns) });
  const run = (text: string) => krtHere(cluster.cluster.kubeconfig, ["workflow", "run", "-f", "-"], withInput(text));
  const inner = { call: { uses: "waits" }, gpu: { "runs-on": "tpu-9000", steps } };
  expect(await run(file(inner))).toEqual({
    code: 5,
    out: "",
    err:
      "krt: job call/build of WorkflowRun waits-too cannot run: there is no Runtime bsh in namespace default\n" +
      "     job gpu of WorkflowRun waits-too cannot run: there is no Runtime tpu-9000 in namespace default\n" +
      "     Did you mean bash?\n",
  });
  expect((await krt("workflow", "list", "-o", "name")).out).not.toContain("waits");
  // What the files bring is there, and what a condition may skip is not asked for.
  const brought = stringify({ ...bashRuntime({ replicas: 0 }, "brought"), ...typeOf(runtimes) });
  const fine = { a: { "runs-on": "brought", if: "${{ 1 == 2 }}", steps }, b: { "runs-on": "brought", steps } };
  expect(
    (await run(`${brought}---\n${file({ ...fine, c: { "runs-on": "nope", if: "${{ 1 == 2 }}", steps } })}`)).code,
  ).toBe(0);
});

test("the list of WorkflowRuns tells at which gate they wait, and what they lack", async () => {
  const jobs = (on: string): WorkflowJobs => ({
    a: {
      "runs-on": on,
      steps: [
        { name: "ask", suspend: {} },
        { name: "s", run: "true" },
      ],
    },
  });
  await cluster.create(workflowRuns, workflowRun("at-gate", jobs("bash")));
  await cluster.create(
    workflowRuns,
    workflowRun("lacking", { a: { "runs-on": "nowhere", steps: [{ name: "s", run: "true" }] } }),
  );
  await cluster.until(workflowRuns, "at-gate", ({ status }) => status?.jobs?.a?.phase === "Suspended");
  await cluster.until(workflowRuns, "lacking", ({ status }) => status?.conditions !== undefined);
  const { out } = await krt("workflow", "list", "-o", "wide");
  expect(out).toMatch(/^NAME +WORKFLOW +PHASE +REASON +GATE +LACKS +PROGRESS +AGE +MESSAGE +WAITS$/m);
  expect(out).toMatch(/^at-gate +Running +ask +0\/1 +\S+ *$/m);
  expect(out).toMatch(
    /^lacking +Running +WorkspaceCapacity +0\/1 .*job a waits for a place for its files: there is no Runtime nowhere$/m,
  );
  for (const name of ["at-gate", "lacking"]) await krt("workflow", "stop", name);
  expect((await krt("workflow", "list")).out).toMatch(/^lacking +Failed +Stopped +1\/1 /m);
});

test("a workflow that fails is a command that fails, with the output of its steps", async () => {
  const file = `apiVersion: kruntimes.io/v1alpha1
kind: WorkflowRun
metadata: {name: broken}
spec:
  jobs:
    a:
      runs-on: bash
      steps:
        - {name: one, run: "echo words; exit 3"}
`;
  const ended = await krtHere(cluster.cluster.kubeconfig, ["wf", "run", "-f", "-", "--follow"], withInput(file));
  expect(ended.code).toBe(1);
  expect(ended.out).toContain("a/one | words\n");
  expect(ended.out).toMatch(/^✖ broken {2}Failed/m);
});

test("runtimes and versions", async () => {
  expect(lines((await krt("runtime", "list")).out)[0]?.split(/ {3,}/)).toEqual([
    "NAME",
    "IMAGE",
    "READY",
    "REPLICAS",
    "ACTIVE",
    "AGE",
  ]);
  expect((await krt("runtime", "get", "bash", "-o", "jsonpath={.status.readyReplicas}")).out).toBe("1");
  expect((await krt("version")).out).toMatch(/^krt 1\.2\.3\nKubernetes v1\.34\S* at https:\/\/127\.0\.0\.1:\d+\n$/);
});

const mistakes: Record<string, { args: string[]; code: number; want: RegExp }> = {
  "a Runtime that is not there": {
    args: ["run", "-r", "bsh", "--", "true"],
    code: 5,
    want: /^krt: there is no Runtime bsh in namespace default\n {5}Did you mean bash\?\n$/,
  },
  "a namespace that is not there": {
    args: ["list", "-n", "defualt"],
    code: 5,
    want: /^krt: there is no namespace defualt\n {5}Did you mean default\?\n$/,
  },
  "a Run into a namespace that is not there": {
    args: ["run", "-n", "nowhere", "--", "true"],
    code: 5,
    want: /^krt: there is no namespace nowhere\n {5}Create it with kubectl create namespace nowhere/,
  },
  "a context that is not there": {
    args: ["list", "--context", "prod"],
    code: 2,
    want: /^krt: the kubeconfig has no context prod; it has krt-local\n/,
  },
  "a kubeconfig that is not there": {
    args: ["list", "--kubeconfig", "/no/such/file"],
    code: 2,
    want: /^krt: there is no kubeconfig \/no\/such\/file\n {5}Check --kubeconfig/,
  },
  "a workflow that is not there": {
    args: ["wf", "run", "nope"],
    code: 5,
    want: /^krt: there is no Workflow nope in namespace default\n/,
  },
  "an artifact that is not there": {
    args: ["artifact", "download", "seven", "x"],
    code: 5,
    want: /^krt: seven has no artifact x\n {5}It has none at all\.\n$/,
  },
  "a Run that the server refuses": {
    args: ["run", "--name", "Not_Valid", "--", "true"],
    code: 2,
    want: /^krt: .*\n?.*metadata\.name/,
  },
};

test.each(Object.entries(mistakes))("%s: one clear line, and the next step", async (_, { args, code, want }) => {
  const ended = await krt(...args);
  expect(ended).toEqual({ code, out: "", err: expect.stringMatching(want) });
});
