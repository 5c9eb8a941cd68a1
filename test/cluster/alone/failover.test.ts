/** Two replicas of scheduler and controller: one works, and when it vanishes the other takes over. */
import { beforeAll, expect, test } from "vitest";
import { runs, workflowRuns } from "#api/resources.ts";
import { pods } from "#kube/builtin.ts";
import { crash, leaderOf } from "../leader.ts";
import {
  bashRun,
  bashRuntime,
  finished,
  installPlatform,
  platformNamespace,
  readyRuntime,
  release,
} from "../platform.ts";
import { adminClient, attempt, kubectl, testNamespace, until } from "../support.ts";

beforeAll(() => installPlatform());

/** What an outage may last, the time until caches are filled again included. */
const budgetMs = 20_000;

test("both replicas are ready, and one of them holds the Lease", async () => {
  for (const component of ["scheduler", "controller"]) {
    const labelSelector = `app.kubernetes.io/component=${component}`;
    const { items } = await adminClient().of(pods).list({ namespace: platformNamespace, labelSelector });
    expect(items.filter(({ status }) => status?.phase === "Running")).toHaveLength(2);
    expect(items.map(({ metadata }) => metadata.name)).toContain(await leaderOf(component));
  }
});

test("Runs are placed again within 20 s after the scheduler at work was killed", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("scheduler");
  await readyRuntime(client, bashRuntime(namespace.name));
  await crash(await leaderOf("scheduler"));
  const begun = performance.now();
  const run = await client.of(runs).create(bashRun(namespace.name, "orphan", "true"));
  expect((await finished(client, run)).status?.phase).toBe("Succeeded");
  expect(performance.now() - begun).toBeLessThan(budgetMs);
  expect(performance.now() - begun, "the Lease was not given back").toBeGreaterThan(5000);
});

test("a workflow goes on within 20 s after the controller at work was killed, and no step runs twice", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("controller");
  await readyRuntime(client, bashRuntime(namespace.name));
  const step = (name: string) => ({ name, run: `echo ${name} >>log` });
  const created = await client.of(workflowRuns).create({
    metadata: { name: "chain", namespace: namespace.name },
    spec: {
      jobs: {
        build: {
          "runs-on": "bash",
          steps: [
            step("one"),
            { name: "two", run: "echo two >>log; sleep 3" },
            step("three"),
            { name: "check", run: 'test "$(tr "\\n" " " <log)" = "one two three "' },
          ],
        },
      },
    },
  });
  const stepPhase = (index: number) => (run: typeof created) => run.status?.jobs?.build?.steps?.[index]?.phase;
  await until(client, workflowRuns, created.metadata, (run) => stepPhase(1)(run) === "Running");
  await crash(await leaderOf("controller"));
  const begun = performance.now();
  const { status } = await until(
    client,
    workflowRuns,
    created.metadata,
    (run) => run.status?.completionTime !== undefined,
  );
  expect(status?.phase, JSON.stringify(status?.jobs)).toBe("Succeeded");
  expect(performance.now() - begun).toBeLessThan(budgetMs + 3000);
  const { items } = await client.of(runs).list({ namespace: namespace.name });
  expect(items).toHaveLength(4);
});

test("a replica that is told to end gives its Lease back: the other works within seconds", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("handover");
  await readyRuntime(client, bashRuntime(namespace.name));
  await kubectl(["delete", "pod", await leaderOf("scheduler"), "-n", platformNamespace, "--wait=false"]);
  const begun = performance.now();
  const run = await client.of(runs).create(bashRun(namespace.name, "next", "true"));
  await finished(client, run);
  expect(performance.now() - begun).toBeLessThan(8000);
});

test("kubectl drain takes one replica of a component at a time: the budget refuses the other", async () => {
  const labelSelector = "app.kubernetes.io/component=webhook";
  const { items } = await adminClient().of(pods).list({ namespace: platformNamespace, labelSelector });
  expect(items).toHaveLength(2);
  const [first, second] = await Promise.all(
    items.map(({ metadata: { name } }) =>
      attempt(
        "kubectl",
        ["create", "--raw", `/api/v1/namespaces/${platformNamespace}/pods/${name}/eviction`, "-f", "-"],
        {
          input: JSON.stringify({
            apiVersion: "policy/v1",
            kind: "Eviction",
            metadata: { name, namespace: platformNamespace },
          }),
        },
      ),
    ),
  );
  const refused = [first, second].filter((one) => one?.code !== 0);
  expect(refused).toHaveLength(1);
  expect(refused[0]?.stderr).toContain("violate the pod's disruption budget");
  await kubectl(["rollout", "status", `deployment/${release}-webhook`, "-n", platformNamespace, "--timeout=60s"]);
});
