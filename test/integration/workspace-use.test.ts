/** What an agent that has just started takes for a workspace that was used: its files are not to be taken for leftovers. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { persistentWorkspaces } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { AgentWorld } from "./support/agent-world.ts";

const namespace = "default";
const hour = 3_600_000;
const directory = "/workspace/persistent/ws";
const inWorkspace = { workspace: { name: "ws" } };

let world: AgentWorld;
beforeEach(async () => {
  world = new AgentWorld();
  await world.createWorkspace("ws");
  world.programs.set("writer", () => ({ durationMs: 5, writesFiles: [{ path: "kept", content: "x" }] }));
  for (const name of ["writer", "reader"]) await world.createRun(name, inWorkspace);
  world.start();
});
afterEach(() => {
  world.crash();
  world.api.close();
});

const note = (change: object) =>
  world.client.of(persistentWorkspaces).patch({ name: "ws", namespace }, { status: change }, { subresource: "status" });

/** As `git clean -dfx` does it, which knows nothing of our files. */
const cleanOurs = () => world.files.remove(`${directory}/.kruntimes`);

async function restart(): Promise<void> {
  world.crash();
  world.start();
  await world.until(() => world.agent?.ready === true);
}

const isKept = async () => (await world.files.stat(`${directory}/kept`)) !== undefined;

test.each([
  ["an hour ahead", hour],
  ["an hour behind", -hour],
  ["right", 0],
])("with the clock of the controller %s the next Run finds the files of the one before", async (_, aheadMs) => {
  await note({ boundTime: timestamp(world.clock.now() + aheadMs) });
  await world.assign("writer");
  expect(await world.untilOver("writer")).toMatchObject({ phase: "Succeeded" });
  await note({ lastUsedTime: timestamp(world.clock.now() + aheadMs) });
  await cleanOurs();
  await restart();
  await world.assign("reader");
  expect(await world.untilOver("reader")).toMatchObject({ phase: "Succeeded" });
  expect(await isKept()).toBe(true);
});

test("files are kept when the controller has not written down yet that the workspace was used", async () => {
  await world.assign("writer");
  expect(await world.untilOver("writer")).toMatchObject({ phase: "Succeeded" });
  await cleanOurs();
  await restart();
  await world.assign("reader");
  expect(await world.untilOver("reader")).toMatchObject({ phase: "Succeeded" });
  expect(await isKept()).toBe(true);
});

test("files are kept under a Run that is at work while its agent is replaced", async () => {
  world.programs.set("writer", () => ({ durationMs: 60_000, writesFiles: [{ path: "kept", content: "x" }] }));
  await world.assign("writer");
  await world.until(isKept);
  await cleanOurs();
  await restart();
  await world.assign("reader");
  expect(await world.untilOver("reader")).toMatchObject({ phase: "Succeeded" });
  expect(await isKept()).toBe(true);
});

test("files in memory that went with a restart of the node are lost, also for a Run that waited meanwhile", async () => {
  world.programs.set("writer", () => ({ durationMs: 60_000, writesFiles: [{ path: "kept", content: "x" }] }));
  await world.assign("writer");
  await world.until(isKept);
  world.crash();
  world.executor.crash();
  await world.files.remove("/workspace/persistent");
  world.clock.advance(30_000);
  world.executor.boot();
  world.start();
  expect(await world.untilOver("writer")).toMatchObject({ phase: "Failed", reason: "AttemptLost" });
  await world.assign("reader");
  expect(await world.untilOver("reader")).toMatchObject({ phase: "Failed", reason: "WorkspaceLost" });
});
