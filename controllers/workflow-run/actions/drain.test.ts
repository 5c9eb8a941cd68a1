import { afterEach, beforeEach, expect, test } from "vitest";
import type { WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { workflowRuns } from "#api/resources.ts";
import { createInformer } from "#kube/informer.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { ActionWorld, job } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

/** Every phase that is ever stored of a run. */
function storyOf(name: string): string[] {
  const story: string[] = [];
  const { client, clock } = world.plane;
  const seen = createInformer(client, workflowRuns, { clock, random: seededRandom(3), logger: silentLogger });
  const say = ({ phase, attempt }: WorkflowRunStatus) => `${phase} ${attempt}`;
  seen.onChange((_, next) => {
    if (next?.metadata.name !== name || next.status === undefined) return;
    if (say(next.status) !== story.at(-1)) story.push(say(next.status));
  });
  seen.start(AbortSignal.timeout(60_000));
  return story;
}

test("a Retry behind the action that ends the run is applied once that end is stored: everybody can see it", async () => {
  await world.run("ci", { a: job(["one"]) }, { suspend: true });
  const story = storyOf("ci");
  await world.create("ci", "Terminate", {}, { name: "a" });
  await world.create("ci", "Retry", {}, { name: "b" });
  await world.create("ci", "Suspend", {}, { name: "c" });
  await world.plane.settle();
  expect(story).toEqual(["Suspended 1", "Failed 1", "Running 2", "Suspended 2"]);
  for (const name of ["a", "b", "c"]) expect((await world.action(name)).status?.phase, name).toBe("Succeeded");
  expect(world.said.filter(({ kind }) => kind === "WorkflowRun").map(({ reason }) => reason)).toContain("Terminated");
  expect(await world.status("ci")).not.toHaveProperty("shutdown");
});
