/** The end of a Run is written by its agent, the TTL is counted by the controller: their clocks differ. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { labels } from "#api/labels.ts";
import { persistentWorkspaces, runs, runtimes } from "#api/resources.ts";
import { parseTime, timestamp } from "#api/time.ts";
import { controllerReference, pods, replicaSets } from "#kube/builtin.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import { createPersistentWorkspace } from "./index.ts";

const namespace = "default";
const minute = 60_000;
let plane: ControlPlane;
beforeEach(async () => {
  plane = new ControlPlane();
  await plane.start((deps, informers) => [createPersistentWorkspace(deps, informers)]);
  const spec = { containers: [{ name: "runtime", image: "x" }] };
  const runtime = await plane.create(runtimes, { metadata: { name: "bash", namespace }, spec: { template: { spec } } });
  const own = { [labels.runtime]: "bash" };
  const set = await plane.create(replicaSets, {
    metadata: { name: "set", namespace, labels: own, ownerReferences: [controllerReference(runtimes, runtime)] },
    spec: { selector: { matchLabels: own }, template: { metadata: { labels: own }, spec } },
  });
  await plane.create(
    pods,
    {
      metadata: { name: "p", namespace, labels: own, ownerReferences: [controllerReference(replicaSets, set)] },
      spec: { ...spec, nodeName: "n" },
    },
    { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  );
  await plane.create(persistentWorkspaces, {
    metadata: { name: "ws", namespace },
    spec: { runtime: "bash", ttlSecondsAfterUnused: 600 },
  });
  await plane.create(runs, {
    metadata: { name: "r", namespace },
    spec: { runtime: "bash", source: { inline: "x" }, workspace: { name: "ws" } },
  });
  await plane.elapse(120 * minute);
});
afterEach(() => plane.stop());

/** The Run ends now, by a clock that is wrong by that much. */
async function endRun(skewMs: number): Promise<void> {
  const one = await plane.client.of(runs).get({ name: "r", namespace });
  const status = { phase: "Cancelled" as const, completionTime: timestamp(plane.clock.now() + skewMs) };
  await plane.client.of(runs).update({ ...one, status }, "status");
  await plane.settle();
}

const status = async () => (await plane.find(persistentWorkspaces, "ws"))?.status;

const skews = { "an hour ahead": 60 * minute, "an hour behind": -60 * minute, right: 0, "five seconds behind": -5000 };

test.each(Object.entries(skews))(
  "with the clock of the agent %s the workspace lives for its TTL after the last use",
  async (_, skew) => {
    const ended = plane.clock.now();
    await endRun(skew);
    await plane.elapse(2000);
    const { activeRuns, lastUsedTime } = (await status()) ?? {};
    expect(activeRuns).toBe(0);
    // The time of the Run where it can be true, else that at which its end was seen.
    const small = skew <= 0 && skew > -minute;
    expect(parseTime(lastUsedTime)).toBe(small ? ended + skew : ended);
    await plane.elapse(9 * minute);
    expect((await status())?.phase).toBe("Bound");
    await plane.elapse(minute);
    expect((await status())?.phase).toBe("Released");
  },
);
