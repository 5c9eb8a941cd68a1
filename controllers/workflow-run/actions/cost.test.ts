/** What an action costs at the API server, whatever else is there. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { workflowRuns } from "#api/resources.ts";
import { ActionWorld, job, namespace } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

/** Requests since the counters began, but for those of the test. */
function requests(): Record<string, number> {
  const made = world.plane.api.counters.all().map(({ verb, resource, subresource, count }) => {
    return [[verb, resource.split(".")[0], subresource].filter(Boolean).join(" "), count] as const;
  });
  return Object.fromEntries(made);
}

test.each([0, 50])(
  "an action on a run beside %i others: its effect, who did it, its answer, and the record is gone",
  async (others) => {
    await world.run("ci", { a: job(["one"]) });
    for (let index = 0; index < others; index++) await world.plane.client.of(workflowRuns).create(other(index));
    await world.plane.settle();
    world.plane.api.counters.reset();
    await world.create("ci", "Suspend");
    await world.plane.settle();
    expect(requests()).toEqual({
      "create workflowactions": 1,
      "get workflowruns": 2,
      "get workflowactions": 1,
      "update workflowruns status": 2,
      "patch workflowruns": 1,
      "update workflowactions status": 1,
    });
  },
);

test("an action that changes nothing does not touch the run", async () => {
  await world.run("ci", { a: job(["one"]) });
  world.plane.api.counters.reset();
  await world.create("ci", "Resume");
  await world.plane.settle();
  expect(requests()).toEqual({
    "create workflowactions": 1,
    "get workflowruns": 1,
    "get workflowactions": 1,
    "update workflowactions status": 1,
  });
});

const other = (index: number) => ({
  metadata: { name: `other-${index}`, namespace },
  spec: { jobs: { a: job(["one"]) } },
});
