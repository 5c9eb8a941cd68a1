import { afterAll, beforeAll, expect, test } from "vitest";
import { runs, runtimes } from "#api/resources.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { bashRun, bashRuntime, claim } from "#test/integration/support/cluster.ts";
import { KubectlCluster } from "./support/kubectl.ts";

let cluster: KubectlCluster;
const kubectl = (args: string) => cluster.kubectl(args);

beforeAll(async () => {
  cluster = await KubectlCluster.start();
  const api = cluster.cluster;
  await api.create(persistentVolumeClaims, claim);
  await api.create(runtimes, bashRuntime());
  await api.create(runs, {
    ...bashRun("good", "echo fine"),
    metadata: { name: "good", namespace: "default", labels: { kind: "nice" } },
  });
  await api.create(runs, bashRun("bad", "exit 7"));
  await Promise.all([api.finished("good"), api.finished("bad")]);
});
afterAll(() => cluster?.stop());

/** Words of each line of a table. */
const table = (text: string): string[][] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => line.trim().split(/ {2,}/));

test("version and health are answered", async () => {
  expect(await kubectl("version")).toContain("Server Version: v1.34.4+krt.local");
  expect(await kubectl("get --raw /readyz")).toBe("ok");
  expect(JSON.parse(await kubectl("get --raw /apis/kruntimes.io/v1alpha1/namespaces/default/runs"))).toMatchObject({
    kind: "RunList",
  });
});

test("get shows Runs with the columns of their definition", async () => {
  const [head, bad, good] = table(await kubectl("get runs"));
  expect(head).toEqual(["NAME", "RUNTIME", "PHASE", "REASON", "POD", "AGE"]);
  expect(good).toEqual([
    "good",
    "bash",
    "Succeeded",
    expect.stringMatching(/^runtime-bash-/),
    expect.stringMatching(/s$/),
  ]);
  expect(bad?.slice(0, 4)).toEqual(["bad", "bash", "Failed", "ExitNonZero"]);
});

test("get -o wide adds the wide columns", async () => {
  const [head, ...rows] = table(await kubectl("get runs -o wide"));
  expect(head).toEqual(["NAME", "RUNTIME", "PHASE", "REASON", "POD", "AGE", "ATTEMPT", "DURATION", "MESSAGE"]);
  expect(rows[0]?.at(-1)).toContain("exit code 7");
});

test("kinds are found by short name, singular, group and category", async () => {
  const plain = await kubectl("get runs -o name");
  expect(plain).toBe("run.kruntimes.io/bad\nrun.kruntimes.io/good\n");
  for (const name of ["rn", "run", "runs.kruntimes.io", "runs.v1alpha1.kruntimes.io"]) {
    expect(await kubectl(`get ${name} -o name`), name).toBe(plain);
  }
  expect(await kubectl("get kruntimes -o name")).toBe(`${plain}runtime.kruntimes.io/bash\n`);
});

test("built-in kinds have their usual columns", async () => {
  const [head, pod] = table(await kubectl("get pods -o wide"));
  expect(head).toEqual([
    "NAME",
    "READY",
    "STATUS",
    "RESTARTS",
    "AGE",
    "IP",
    "NODE",
    "NOMINATED NODE",
    "READINESS GATES",
  ]);
  expect(pod?.slice(1, 4)).toEqual(["2/2", "Running", "0"]);
  expect(pod?.slice(5)).toEqual(["127.0.0.1", "local", "<none>", "<none>"]);
  expect(table(await kubectl("get replicasets"))[1]?.slice(1, 4)).toEqual(["1", "1", "1"]);
  expect(table(await kubectl("get namespaces"))[1]?.slice(0, 2)).toEqual(["default", "Active"]);
  expect(table(await kubectl("get pvc"))[1]?.slice(0, 1)).toEqual(["artifacts"]);
  for (const kind of ["events", "configmaps", "secrets", "serviceaccounts", "services", "leases", "rolebindings"]) {
    expect((await cluster.run(["get", kind, "-A"])).code, kind).toBe(0);
  }
});

test("lists can be selected, sorted, paged and printed as one likes", async () => {
  expect(await kubectl("get runs -l kind=nice -o name")).toBe("run.kruntimes.io/good\n");
  expect(await kubectl("get runs --field-selector status.phase=Failed -o name")).toBe("run.kruntimes.io/bad\n");
  expect(table(await kubectl("get runs --sort-by=.status.exitCode")).map(([name]) => name)).toEqual([
    "NAME",
    "good",
    "bad",
  ]);
  expect(table(await kubectl("get runs --chunk-size=1")).map(([name]) => name)).toEqual(["NAME", "bad", "good"]);
  expect(await kubectl("get run bad -o jsonpath={.status.exitCode}")).toBe("7");
  expect(await kubectl("get run bad -o go-template={{.status.phase}}")).toBe("Failed");
  expect(await kubectl("get runs --no-headers -o custom-columns=N:.metadata.name")).toBe("bad\ngood\n");
  expect(await kubectl("get run good -o yaml")).toMatch(/^apiVersion: kruntimes.io\/v1alpha1\nkind: Run\n/m);
  expect(table(await kubectl("get runs --show-labels -L kind"))[0]).toContain("LABELS");
  expect(table(await kubectl("get runs -A"))[1]?.[0]).toBe("default");
});

test("what does not exist is said in the usual words", async () => {
  expect(await cluster.refused("get run nobody")).toBe(
    'Error from server (NotFound): runs.kruntimes.io "nobody" not found\n',
  );
  expect(await cluster.refused("get deployments")).toContain(`the server doesn't have a resource type "deployments"`);
  expect((await cluster.run(["get", "runs", "-n", "empty"])).err).toContain("No resources found in empty namespace");
});

test("get -w shows changes as they happen", async () => {
  const watch = cluster.watch("get runs -w --no-headers");
  try {
    await watch.line(/^good /);
    await cluster.cluster.create(runs, bashRun("watched", "true"));
    await watch.line(/^watched +bash +Pending/);
    await watch.line(/^watched +bash +Succeeded/);
  } finally {
    await watch.stop();
  }
});

test("get -w of one object, with events and as JSON", async () => {
  const watch = cluster.watch("get run good --watch-only --output-watch-events -o json");
  try {
    await cluster.cluster.until(runs, "good", () => true);
    // Changes until one is seen: nothing tells when the watch has begun.
    let n = 0;
    const seen = watch.line(/"type": ?"MODIFIED"/);
    const change = setInterval(() => {
      void cluster.kubectl(`annotate run good --overwrite n=${++n}`);
    }, 300);
    await seen.finally(() => clearInterval(change));
  } finally {
    await watch.stop();
  }
});

test("describe shows the object and its Events", async () => {
  const text = await kubectl("describe run bad");
  expect(text).toMatch(/^Name: +bad$/m);
  expect(text).toMatch(/^ +Exit Code: +7$/m);
  expect(text).toMatch(/^Events: +<none>$/m);
  const pods = await kubectl("describe pods");
  expect(pods).toMatch(/^Node: +local/m);
  expect(await kubectl("describe runtime bash")).toContain("Ready Replicas");
  expect(await kubectl("describe ns default")).toMatch(/^Status: +Active$/m);
  expect(await kubectl("describe pvc artifacts")).toMatch(/^Name: +artifacts$/m);
});

test("explain describes fields of our kinds and of built-in ones", async () => {
  const workspace = await kubectl("explain run.spec.workspace");
  expect(workspace).toMatch(/^GROUP: +kruntimes.io\nKIND: +Run\nVERSION: +v1alpha1$/m);
  expect(workspace).toMatch(/name\t<string> -required-/);
  expect(await kubectl("explain runtime.spec.capacity")).toContain("FIELDS:");
  expect(await kubectl("explain wfr.spec.jobs.steps --recursive")).toContain("continue-on-error");
  expect(await kubectl("explain pod.spec.containers.env.valueFrom")).toContain("secretKeyRef");
  expect(await kubectl("explain events.regarding --api-version=events.k8s.io/v1")).toContain("fieldPath");
  expect(await cluster.refused("explain run.spec.nothing")).toContain('field "nothing" does not exist');
});

test("api-resources and api-versions list what is served", async () => {
  const rows = table(await kubectl("api-resources --api-group=kruntimes.io"));
  expect(rows).toContainEqual(["runs", "rn", "kruntimes.io/v1alpha1", "true", "Run"]);
  expect(await kubectl("api-resources --categories=kruntimes -o name")).toContain("runtimes.kruntimes.io");
  expect((await kubectl("api-versions")).split("\n")).toEqual(
    expect.arrayContaining(["v1", "apps/v1", "kruntimes.io/v1alpha1", "logs.kruntimes.io/v1alpha1"]),
  );
});

test("auth answers what one may and who one is", async () => {
  expect(await kubectl("auth can-i create runs")).toBe("yes\n");
  expect(await kubectl("auth can-i get runs.logs.kruntimes.io --subresource=log")).toBe("yes\n");
  expect(await kubectl("auth whoami")).toContain("krt-local");
  expect(await kubectl("auth can-i --list")).toMatch(/\*\.\* /);
  expect(await cluster.refused("get runs --as somebody")).toContain("impersonation is not supported");
});

test("logs shows what the agent of a Pod printed", async () => {
  const [, pod] = table(await kubectl("get pods"));
  const text = await kubectl(`logs ${pod?.[0]} -c runtimed`);
  expect(text).toContain('"message":"fine"');
  expect((await kubectl(`logs ${pod?.[0]} -c runtimed --tail=1`)).trimEnd().split("\n")).toHaveLength(1);
  const follow = cluster.watch(`logs -f ${pod?.[0]} -c runtimed --tail=0`);
  try {
    let n = 0;
    const seen = follow.line(/later words/);
    const run = setInterval(() => {
      void cluster.cluster.create(runs, bashRun(`later-${++n}`, "echo later words"));
    }, 500);
    await seen.finally(() => clearInterval(run));
  } finally {
    await follow.stop();
  }
  expect(await cluster.refused(`logs ${pod?.[0]} -c nothing`)).toContain("container nothing is not valid for pod");
});

test("what the local cluster does not have is refused clearly", async () => {
  expect(await cluster.refused("top pods")).toContain("Metrics API not available");
  expect(await cluster.refused("get nodes")).toContain(`doesn't have a resource type "nodes"`);
  const [, pod] = table(await kubectl("get pods"));
  expect(await cluster.refused(`exec ${pod?.[0]} -c runtime -- true`)).toMatch(/exec takes no upgrade/);
});
