import { afterEach, expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { AgentWorld } from "./support/agent-world.ts";

let world: AgentWorld | undefined;
afterEach(() => {
  world?.crash();
  world?.api.close();
});

/** A Run that goes through every stage: workspace, inputs, program with output, outputs, artifacts. */
async function arrange(): Promise<AgentWorld> {
  const made = new AgentWorld();
  world = made;
  const stored = await made.store.put({ runUid: "producer", name: "input" }, bytes("data"), { maxBytes: 100 });
  const ref: ArtifactRef = { name: "input", driver: "Filesystem", type: "File", ...stored };
  await made.createWorkspace("ws");
  made.programs.set("run", () => ({
    durationMs: 50,
    output: [{ data: "hello\n" }],
    writesFiles: [
      { path: "$KRUNTIME_OUTPUTS", content: "key=value\n" },
      { path: "$KRUNTIME_ARTIFACTS_DIR/result", content: "result" },
    ],
  }));
  await made.createRun("run", { workspace: { name: "ws" }, artifactInputs: [{ ref, path: "in/data" }] });
  await made.assign("run");
  return made;
}

async function* bytes(text: string) {
  yield Buffer.from(text);
}

test("an attempt goes through all stages", async () => {
  const made = await arrange();
  const points: string[] = [];
  made.watcher = (point, when) => when === "before" && points.push(point);
  made.start();
  const status = await made.untilOver("run");
  expect(status).toMatchObject({ phase: "Succeeded", attempt: 1, outputs: { key: "value" } });
  expect(status.artifactRefs?.map(({ name }) => name)).toEqual(["result"]);
  // What the next test kills the agent at.
  expect(points).toContain("executor.execute");
  expect(points).toContain("store.put");
  expect(points).toContain("store.open");
  expect(points.filter((point) => point === "api.request PUT")).toHaveLength(2);
});

/** The calls of an undisturbed attempt, in order; the agent is killed at each of them, before and after it. */
async function pointsOfOneAttempt(): Promise<number> {
  const made = await arrange();
  let points = 0;
  made.watcher = (_, when) => {
    if (when === "before") points++;
  };
  made.start();
  await made.untilOver("run");
  await made.until(async () => (await made.executor.list()).length === 0);
  made.crash();
  made.api.close();
  return points;
}

test("an agent killed at any stage is followed by one that brings the attempt to its end, and nothing starts twice", async () => {
  const points = await pointsOfOneAttempt();
  expect(points).toBeGreaterThan(30);
  const outcomes = new Map<string, number>();
  for (let target = 0; target < points; target++) {
    for (const where of ["before", "after"] as const) {
      const made = await arrange();
      let seen = 0;
      let killedAt = "";
      made.watcher = (point, when) => {
        if (when !== where || killedAt !== "" || seen++ !== target) return;
        killedAt = point;
        made.crash();
      };
      made.start();
      await made.until(() => killedAt !== "");
      made.start();
      const status = await made.untilOver("run");
      const label = `killed ${where} call ${target} (${killedAt})`;
      expect([label, [...made.executor.starts.values()].filter((count) => count > 1)]).toEqual([label, []]);
      expect([label, status.phase, status.message]).toEqual([label, "Succeeded", undefined]);
      expect([label, status.outputs]).toEqual([label, { key: "value" }]);
      outcomes.set(killedAt.split(".")[0] ?? "", (outcomes.get(killedAt.split(".")[0] ?? "") ?? 0) + 1);
      made.crash();
      made.api.close();
    }
  }
  console.log(`killed at ${2 * points} points: ${JSON.stringify(Object.fromEntries(outcomes))}`);
});

test("an executor that dies with the program fails the attempt with AttemptLost, and the retry runs on the new one", async () => {
  const made = await arrange();
  await made.createRun("long", { retryPolicy: { maxAttempts: 2 } });
  made.programs.set("long", (attempt) => ({ durationMs: attempt === 1 ? 60_000 : 10 }));
  await made.assign("long");
  made.start();
  await made.until(() => made.executor.running.length === 2);
  made.executor.crash();
  made.executor.boot();
  const lost = await made.untilOver("long");
  expect(lost).toMatchObject({ phase: "Pending", attempt: 1 });
  expect(lost.attempts).toMatchObject([{ number: 1, reason: "AttemptLost" }]);
  await made.until(() => made.clock.now() >= Date.parse(lost.nextAttemptTime ?? ""));
  await made.assign("long");
  expect(await made.untilOver("long")).toMatchObject({ phase: "Succeeded", attempt: 2 });
});

test("agent and executor that die together lose the attempt: nobody knows what became of the program", async () => {
  const made = await arrange();
  made.programs.set("run", () => ({ durationMs: 60_000 }));
  made.start();
  await made.until(() => made.executor.running.length === 1);
  made.crash();
  made.executor.crash();
  await made.until(() => made.clock.now() > 0);
  made.clock.advance(1000);
  made.executor.boot();
  made.start();
  expect(await made.untilOver("run")).toMatchObject({ phase: "Failed", reason: "AttemptLost" });
  expect([...made.executor.starts.values()]).toEqual([1]);
});
