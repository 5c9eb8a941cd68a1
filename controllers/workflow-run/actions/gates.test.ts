import { afterEach, beforeEach, expect, test } from "vitest";
import type { JobSpec, StepSpec } from "#api/kinds/job.ts";
import { runs } from "#api/resources.ts";
import { ActionWorld, job, namespace } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

const gate = (name: string, suspend: StepSpec["suspend"] = {}): StepSpec => ({ name, suspend });
const deploy = (suspend?: StepSpec["suspend"], more: Partial<JobSpec> = {}): JobSpec => ({
  "runs-on": "bash",
  steps: [gate("approve", suspend), { name: "go", run: "echo ${{ steps.approve.outputs.ok }}" }],
  ...more,
});
const ok = { outputs: { ok: { options: ["yes", "no"] } } };
const okByDefault = { outputs: { ok: { default: "yes" } } };
const select = (nodeFieldSelector: string, outputParameters?: Record<string, string>) => ({
  resume: { nodeFieldSelector, ...(outputParameters && { outputParameters }) },
});
const stepOf = async (jobId: string, index = 0) => (await world.status("ci")).jobs?.[jobId]?.steps?.[index];

test("a gate makes its job suspended, not the run, and waits until somebody resumes it", async () => {
  await world.run("ci", { deploy: deploy({ ...okByDefault, message: "the release of today" }) });
  const waiting = await world.status("ci");
  expect(waiting.phase).toBe("Running");
  expect(waiting.jobs?.deploy).toMatchObject({
    phase: "Suspended",
    reason: "WaitsForResume",
    message: "the release of today",
  });
  await world.plane.elapse(24 * 3_600_000);
  expect((await world.status("ci")).jobs?.deploy?.phase).toBe("Suspended");
  expect(await world.ask("ci", "Resume")).toMatchObject({ phase: "Succeeded", message: "resumed deploy/approve" });
  expect(await stepOf("deploy")).toMatchObject({ phase: "Succeeded", outputs: { ok: "yes" } });
  await world.finish("ci", "deploy", "go");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded" });
});

test("an output that is supplied reaches the steps behind the gate", async () => {
  await world.run("ci", { deploy: deploy(ok) });
  const answer = await world.ask("ci", "Resume", select("name=deploy/approve", { ok: "no" }));
  expect(answer).toMatchObject({ phase: "Succeeded" });
  expect(await stepOf("deploy")).toMatchObject({ outputs: { ok: "no" } });
  const child = await world.child("ci", "deploy", "go");
  const run = await world.plane.client.of(runs).get({ name: child?.metadata.name ?? "", namespace });
  expect(JSON.stringify(run.spec)).toContain("no");
});

test.each<[string, Parameters<ActionWorld["ask"]>[2], RegExp]>([
  [
    "an output without a value and without a default",
    {},
    /deploy\/approve needs the output "ok", which has no default/,
  ],
  ["a value that is no option", select("job=deploy", { ok: "perhaps" }), /"perhaps" is no option/],
  [
    "an output that the gate does not have",
    select("job=deploy", { ok: "yes", who: "me" }),
    /does not expect the output "who"/,
  ],
])("%s fails the action and changes nothing", async (_, more, message) => {
  await world.run("ci", { deploy: deploy(ok), other: deploy(okByDefault) });
  const before = JSON.stringify(await world.target("ci"));
  const answer = await world.ask("ci", "Resume", more);
  expect(answer).toMatchObject({ phase: "Failed", reason: "InvalidOutputParameters" });
  expect(answer.message).toMatch(message);
  expect(JSON.stringify(await world.target("ci"))).toBe(before);
});

test("a bare Resume of a suspended run with a gate that lacks a value leaves it suspended", async () => {
  await world.run("ci", { deploy: deploy(ok), other: deploy(okByDefault) });
  await world.ask("ci", "Suspend");
  expect(await world.ask("ci", "Resume")).toMatchObject({ reason: "InvalidOutputParameters" });
  expect(await world.status("ci")).toMatchObject({ phase: "Suspended", suspended: true });
  expect(await stepOf("other")).toMatchObject({ phase: "Suspended" });
});

test("a selector opens the gates that it matches; a suspension, and the other gates, stay", async () => {
  await world.run("ci", { a: deploy(okByDefault), b: deploy(okByDefault), c: deploy(okByDefault) });
  await world.ask("ci", "Suspend");
  expect(await world.ask("ci", "Resume", select("type=Gate,job!=b"))).toMatchObject({
    phase: "Succeeded",
    message: "resumed a/approve, c/approve",
  });
  const status = await world.status("ci");
  expect(status).toMatchObject({ phase: "Suspended", suspended: true });
  expect(status.jobs?.a?.steps?.map(({ phase }) => phase)).toEqual(["Succeeded", "Waiting"]);
  expect(status.jobs?.b?.phase).toBe("Suspended");
  expect(await world.ask("ci", "Resume", select("name=a/approve"))).toMatchObject({
    reason: "NothingToResume",
    message: "no gate that waits matches name=a/approve; these wait: b/approve",
  });
});

test("a Resume that comes before the gate waits fails, and the gate stays when it does", async () => {
  await world.run("ci", { deploy: { ...deploy(okByDefault), needs: ["a"] }, a: job(["one"]) });
  expect(await world.ask("ci", "Resume")).toMatchObject({ phase: "Failed", reason: "NothingToResume" });
  await world.finish("ci", "a", "one");
  expect(await stepOf("deploy")).toMatchObject({ phase: "Suspended" });
  expect(await world.ask("ci", "Resume")).toMatchObject({ phase: "Succeeded" });
});

test("a Stop with a selector fails the gate with its message, and the run goes on by the rules for failures", async () => {
  await world.run("ci", { deploy: deploy(okByDefault), a: job(["one"]) });
  const answer = await world.ask("ci", "Stop", { stop: { nodeFieldSelector: "step=approve", message: "not today" } });
  expect(answer).toMatchObject({ phase: "Succeeded", message: "stopped deploy/approve" });
  expect(await stepOf("deploy")).toMatchObject({ phase: "Failed", reason: "GateStopped", message: "not today" });
  expect(await stepOf("deploy", 1)).toMatchObject({ phase: "Skipped" });
  expect(await world.status("ci")).toMatchObject({ phase: "Running" });
  await world.finish("ci", "a", "one");
  const ended = await world.status("ci");
  expect(ended).toMatchObject({ phase: "Failed", reason: "JobFailed" });
  expect(ended.shutdown).toBeUndefined();
});

test("a gate with a duration opens by itself with its defaults, on time, also while the run is suspended", async () => {
  await world.run("ci", { deploy: deploy({ ...okByDefault, duration: "30s" }) });
  await world.ask("ci", "Suspend");
  await world.plane.elapse(29_000);
  expect(await stepOf("deploy")).toMatchObject({ phase: "Suspended" });
  await world.plane.elapse(1000);
  expect(await stepOf("deploy")).toMatchObject({ phase: "Succeeded", outputs: { ok: "yes" } });
  expect(await stepOf("deploy", 1)).toMatchObject({ phase: "Waiting" });
});

test("a gate does not begin to wait while the run is suspended", async () => {
  await world.run("ci", { deploy: deploy(okByDefault) }, { suspend: true });
  expect((await world.status("ci")).jobs?.deploy?.phase).toBe("Waiting");
  await world.ask("ci", "Resume");
  expect(await stepOf("deploy")).toMatchObject({ phase: "Suspended" });
});

test.each(["Stop", "Terminate"])("%s ends a run that only waits at a gate at once", async (action) => {
  await world.run("ci", { deploy: deploy(ok) });
  expect(await world.ask("ci", action)).toMatchObject({ phase: "Succeeded" });
  const ended = await world.status("ci");
  expect(ended).toMatchObject({ phase: "Failed", reason: action === "Stop" ? "Stopped" : "Terminated" });
  expect(ended.jobs?.deploy).toMatchObject({
    phase: "Cancelled",
    steps: [{ phase: "Cancelled" }, { phase: "Skipped" }],
  });
});

test("a deadline of the run and of the job fires while a gate waits", async () => {
  await world.run("ci", { deploy: deploy(ok, { timeout: "20s" }) });
  await world.plane.elapse(20_000);
  expect((await world.status("ci")).jobs?.deploy).toMatchObject({ phase: "Failed", reason: "Timeout" });
  await world.run("other", { deploy: deploy(ok) }, { timeout: "20s" });
  await world.plane.elapse(20_000);
  expect(await world.status("other")).toMatchObject({ phase: "Failed", reason: "TimedOut" });
});

test("each instance of a matrix has a gate of its own", async () => {
  const strategy = { matrix: { env: ["test", "prod"] } };
  await world.run("ci", { deploy: deploy(okByDefault, { strategy }) });
  expect(await world.ask("ci", "Resume", select("job=deploy,name!=deploy.1/approve"))).toMatchObject({
    message: "resumed deploy.0/approve",
  });
  expect(await stepOf("deploy.1")).toMatchObject({ phase: "Suspended" });
});
