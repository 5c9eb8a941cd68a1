import { afterEach, expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { runs } from "#api/resources.ts";
import { StoreUnavailableError } from "#runtime/artifacts/store.ts";
import { FilesError } from "#runtime/files/port.ts";
import { AgentWorld } from "./support/agent-world.ts";

/** What volumes and stores do at night: full, away, slow. The Run says what happened, and nothing else suffers. */
let world: AgentWorld;
afterEach(() => world.crash());

const leavesArtifact = () => ({
  durationMs: 5,
  writesFiles: [{ path: "$KRUNTIME_ARTIFACTS_DIR/f", content: "x" }],
});

/** These calls fail as what `fault` gives does, or wait for it. */
function disturb(points: readonly string[], fault: () => Promise<void> | undefined): void {
  world.hold = (point) => (points.includes(point) ? fault() : undefined);
}

test("a store that is away for a minute costs a Run the minute, and no attempt", async () => {
  world = new AgentWorld();
  world.programs.set("a", leavesArtifact);
  await world.createRun("a");
  const back = world.clock.now() + 60_000;
  disturb(["store.put"], () =>
    world.clock.now() < back ? Promise.reject(new StoreUnavailableError("the volume does not answer")) : undefined,
  );
  world.start();
  await world.assign("a");
  const status = await world.untilOver("a");
  expect(status).toMatchObject({ phase: "Succeeded", attempt: 1, artifactRefs: [{ name: "f" }] });
  expect(world.clock.now()).toBeGreaterThanOrEqual(back);
});

test("a slow store holds up the Runs that use it, and no other", async () => {
  world = new AgentWorld();
  const ended = Promise.withResolvers<void>();
  let storing = false;
  disturb(["store.put"], () => {
    storing = true;
    return ended.promise;
  });
  world.programs.set("slow", leavesArtifact);
  for (const name of ["slow", "quick"]) await world.createRun(name);
  world.start();
  await world.assign("slow");
  await world.until(() => storing);
  await world.assign("quick");
  expect(await world.untilOver("quick")).toMatchObject({ phase: "Succeeded" });
  expect((await world.status("slow")).phase).toBe("Running");
  ended.resolve();
  expect(await world.untilOver("slow")).toMatchObject({ phase: "Succeeded" });
});

/** A Run that stages an input. */
async function consumer(name: string): Promise<void> {
  const stored = await world.store.put({ runUid: "producer", name: "input" }, bytes("data"), { maxBytes: 100 });
  const ref: ArtifactRef = { name: "input", driver: "Filesystem", type: "File", ...stored };
  await world.createRun(name, { artifactInputs: [{ ref, path: "in" }] });
}

async function* bytes(text: string) {
  yield Buffer.from(text);
}

test("a store that is away for a minute when inputs are staged costs a Run the minute, and no attempt", async () => {
  world = new AgentWorld();
  await consumer("a");
  const back = world.clock.now() + 60_000;
  disturb(["store.open"], () =>
    world.clock.now() < back ? Promise.reject(new StoreUnavailableError("the volume does not answer")) : undefined,
  );
  world.start();
  await world.assign("a");
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded", attempt: 1 });
  expect(world.clock.now()).toBeGreaterThanOrEqual(back);
});

test("a slow store holds up the Runs that wait for their inputs, and no other", async () => {
  world = new AgentWorld();
  const ended = Promise.withResolvers<void>();
  let opening = 0;
  disturb(["store.open"], () => {
    opening++;
    return ended.promise;
  });
  const waiting = ["a", "b", "c"];
  for (const name of waiting) await consumer(name);
  await world.createRun("quick");
  world.start();
  for (const name of waiting) await world.assign(name);
  await world.until(() => opening === waiting.length);
  await world.assign("quick");
  expect(await world.untilOver("quick")).toMatchObject({ phase: "Succeeded" });
  for (const name of waiting) expect((await world.status(name)).phase).toBe("Running");
  ended.resolve();
  for (const name of waiting) expect(await world.untilOver(name)).toMatchObject({ phase: "Succeeded" });
});

test("nobody waits for a store that hangs: neither a Run that is not wanted any more, nor one that is out of time", async () => {
  world = new AgentWorld();
  const hanging = Promise.withResolvers<void>();
  let calls = 0;
  disturb(["store.open", "store.put"], () => {
    calls++;
    return hanging.promise;
  });
  world.programs.set("late", leavesArtifact);
  await consumer("unwanted");
  await world.createRun("late", { timeout: "1m" });
  await world.createRun("beside");
  world.start();
  for (const name of ["unwanted", "late"]) await world.assign(name);
  await world.until(() => calls === 2);
  const patch = { spec: { termination: { mode: "Immediate" as const } } };
  await world.client.of(runs).patch({ name: "unwanted", namespace: "default" }, patch);
  expect(await world.untilOver("unwanted")).toMatchObject({ phase: "Cancelled" });
  const late = await world.untilOver("late");
  expect(late).toMatchObject({ phase: "Failed", reason: "ArtifactStoreUnavailable" });
  expect(late.message).toContain("the artifact store does not answer");
  await world.assign("beside");
  expect(await world.untilOver("beside")).toMatchObject({ phase: "Succeeded" });
  // What the store says much later changes nothing of what has ended.
  hanging.resolve();
  await world.until(async () => (await world.executor.list()).length === 0);
  expect((await world.status("late")).artifactRefs).toBeUndefined();
  expect(await world.files.stat("/workspace/runs")).toMatchObject({ kind: "Directory" });
  expect(await world.files.list("/workspace/runs", 10)).toEqual([]);
});

test("a full store is asked again until there is room", async () => {
  world = new AgentWorld();
  world.programs.set("a", leavesArtifact);
  await world.createRun("a");
  let full = 5;
  disturb(["store.put"], () =>
    full-- > 0 ? Promise.reject(new StoreUnavailableError("no space left on the volume")) : undefined,
  );
  world.start();
  await world.assign("a");
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded", attempt: 1 });
});

test("a full workspace volume fails the Run before it begins, says so, and the next one works when there is room", async () => {
  world = new AgentWorld();
  let full = true;
  disturb(["files.makeDirectory", "files.writeFile"], () =>
    full ? Promise.reject(new FilesError("NoSpace", "/workspace", "no space left on the volume")) : undefined,
  );
  for (const name of ["a", "b"]) await world.createRun(name);
  world.start();
  await world.assign("a");
  const status = await world.untilOver("a");
  expect(status).toMatchObject({ phase: "Failed", reason: "StartFailed" });
  expect(status.message).toContain("no space left on the volume");
  full = false;
  await world.assign("b");
  expect(await world.untilOver("b")).toMatchObject({ phase: "Succeeded" });
});

test("a workspace in memory whose node was restarted is lost: the next Run says so and does not begin anew", async () => {
  world = new AgentWorld();
  await world.createWorkspace("ws");
  world.programs.set("a", () => ({ durationMs: 5, writesFiles: [{ path: "kept", content: "x" }] }));
  await world.createRun("a", { workspace: { name: "ws" } });
  world.start();
  await world.assign("a");
  await world.untilOver("a");
  await world.files.remove("/workspace/persistent/ws");
  await world.createRun("b", { workspace: { name: "ws" } });
  await world.assign("b");
  expect(await world.untilOver("b")).toMatchObject({ phase: "Failed", reason: "WorkspaceLost" });
});
