/** Artifacts on Kubernetes, with sweeps every few seconds instead of every hour. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runs, workflowRuns } from "#api/resources.ts";
import { parseTime } from "#api/time.ts";
import { leases } from "#kube/builtin.ts";
import { sweepLease } from "#runtime/agent/sweeper.ts";
import { besideAgent, type PodRef } from "../inside.ts";
import { bashRun, bashRuntime, finished, installPlatform, readyRuntime } from "../platform.ts";
import { adminClient, apply, testNamespace, until, untilGone } from "../support.ts";
import { claimOf, volumeFor } from "../volumes.ts";

beforeAll(() => installPlatform({ controller: { artifactSweepInterval: "4s" } }));
afterAll(() => installPlatform());

/** UIDs of the Runs that have anything in the store. */
async function stored(pod: PodRef): Promise<string[]> {
  const { stdout, stderr } = await besideAgent(pod, 'console.log(fs.readdirSync("/artifacts/runs").join(" "))');
  expect(stderr).toBe("");
  return stdout.trim().split(" ").filter(Boolean).sort();
}

test("what belongs to a Run, a WorkflowRun or a Run that waits for it stays, sweep after sweep; the rest goes, all of it", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("sweep");
  const ref = (name: string) => ({ name, namespace: namespace.name });
  await using volume = await volumeFor(namespace.name, "artifacts");
  await apply([claimOf(namespace.name, "artifacts", volume)]);
  const artifactStore = { driver: "Filesystem" as const, filesystem: { volumeClaimName: "artifacts" } };
  const [pod] = await readyRuntime(client, bashRuntime(namespace.name, { replicas: 2, artifactStore }));
  const on = { namespace: namespace.name, name: pod?.metadata.name ?? "" };
  /** Until a whole sweep has begun and ended since now: the turn after the next one is taken. */
  const sweeps = async () => {
    for (let n = 0; n < 2; n++) {
      const begun = Date.now();
      const renewed = await until(
        client,
        leases,
        ref(sweepLease("bash")),
        ({ spec }) => (parseTime(spec?.renewTime ?? undefined) ?? 0) > begun,
      );
      expect(renewed.spec?.leaseDurationSeconds).toBe(4);
    }
  };

  const script = 'echo data >"$KRUNTIME_ARTIFACTS_DIR/file"';
  const plain = await client.of(runs).create(bashRun(namespace.name, "plain", script));
  const { uid: plainUid = "" } = (await finished(client, plain)).metadata;
  const jobs = {
    make: { "runs-on": "bash", steps: [{ name: "make", run: script }] },
    take: {
      "runs-on": "bash",
      needs: ["make"],
      steps: [
        {
          name: "take",
          run: `test "$(cat in)" = data; ${script}`,
          artifacts: [{ from: "jobs.make.artifacts.file", path: "in" }],
        },
      ],
    },
  };
  const created = await client.of(workflowRuns).create({ metadata: ref("flow"), spec: { jobs } });
  const { status } = await until(
    client,
    workflowRuns,
    created.metadata,
    (one) => one.status?.completionTime !== undefined,
  );
  expect(status?.phase, JSON.stringify(status?.jobs)).toBe("Succeeded");
  const made = status?.jobs?.make?.artifacts?.file;
  if (made === undefined) throw new Error("the job has made nothing");
  const uidOf = async (job: string) =>
    (await client.of(runs).get(ref(status?.jobs?.[job]?.steps?.[0]?.runName ?? ""))).metadata.uid ?? "";
  const [makeUid, takeUid] = [await uidOf("make"), await uidOf("take")];
  // It never finds room, so it is not over, and may still read its input.
  await client.of(runs).create(
    bashRun(namespace.name, "waits", "cat in", {
      artifactInputs: [{ ref: made, path: "in" }],
      resources: { requests: { runs: 99 } },
    }),
  );
  await sweeps();
  expect(await stored(on)).toEqual([plainUid, makeUid, takeUid].sort());

  await client.of(runs).delete(ref("plain"));
  await expect.poll(() => stored(on), { timeout: 30_000, interval: 500 }).toEqual([makeUid, takeUid].sort());
  await client.of(workflowRuns).delete(ref("flow"));
  await untilGone(client, workflowRuns, ref("flow"));
  await expect.poll(() => stored(on), { timeout: 30_000, interval: 500 }).toEqual([makeUid]);
  await sweeps();
  expect(await stored(on)).toEqual([makeUid]);
  await client.of(runs).delete(ref("waits"));
  await expect.poll(() => stored(on), { timeout: 30_000, interval: 500 }).toEqual([]);
});
