/** What each identity of the platform may do, asked of the API server: the table that the documentation shows, and no more. */
import { beforeAll, expect, test } from "vitest";
import { bashRuntime, installPlatform, platformNamespace, readyRuntime, release, usernameOf } from "./platform.ts";
import { adminClient, kubectl, testNamespace } from "./support.ts";

beforeAll(() => installPlatform());

/** Lines of `kubectl auth can-i --list` without what every authenticated user may do. */
async function rightsOf(user: string, namespace: string): Promise<string[]> {
  // As the service account: with its groups, whose rights everybody has.
  const groups = ["system:serviceaccounts", "system:authenticated"].map((group) => `--as-group=${group}`);
  const list = (as: readonly string[]) =>
    kubectl(["auth", "can-i", "--list", "--no-headers", "-n", namespace, ...as]).then(linesOf);
  const everybodys = new Set(await list(["--as=nobody-special", ...groups]));
  return (await list([`--as=${user}`, ...groups])).filter((line) => !everybodys.has(line)).sort();
}

/** `RESOURCES [NAMES] [VERBS]`; a right of a path has no resource. */
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/\s+/g, " ").replaceAll(" []", "").trim())
    .filter((line) => !line.startsWith("["));

const read = "[get list watch]";
const write = "[get list watch create update patch delete]";

const lease = (component: string) => [
  "leases.coordination.k8s.io [create]",
  `leases.coordination.k8s.io [kruntimes-${component}] [get update]`,
];

test("the scheduler reads what it places and writes the status of Runs, and nothing else", async () => {
  const wanted = [
    `persistentworkspaces.kruntimes.io ${read}`,
    `pods ${read}`,
    `replicasets.apps ${read}`,
    `runs.kruntimes.io ${read}`,
    `runtimes.kruntimes.io ${read}`,
    "events.events.k8s.io [create patch]",
    "runs.kruntimes.io/status [update patch]",
  ].sort();
  expect(await rightsOf(usernameOf("scheduler"), "default")).toEqual(wanted);
  expect(await rightsOf(usernameOf("scheduler"), platformNamespace)).toEqual([...wanted, ...lease("scheduler")].sort());
});

test("the controller writes what it makes, binds agents to one role, and sees no Secret", async () => {
  const status = [
    "actions",
    "persistentworkspaces",
    "runs",
    "runtimes",
    "workflowactions",
    "workflowruns",
    "workflows",
  ];
  const wanted = [
    ...["runtimes", "workflows", "actions"].map((plural) => `${plural}.kruntimes.io ${read}`),
    ...["runs", "persistentworkspaces", "workflowruns"].map((plural) => `${plural}.kruntimes.io ${write}`),
    "workflowactions.kruntimes.io [get list watch delete]",
    ...status.map((plural) => `${plural}.kruntimes.io/status [update patch]`),
    "runtimes.kruntimes.io/finalizers [update]",
    "workflowruns.kruntimes.io/finalizers [update]",
    `replicasets.apps ${write}`,
    `controllerrevisions.apps ${write}`,
    "pods [get list watch patch delete]",
    `serviceaccounts ${write}`,
    `services ${write}`,
    `networkpolicies.networking.k8s.io ${write}`,
    `rolebindings.rbac.authorization.k8s.io ${write}`,
    `clusterroles.rbac.authorization.k8s.io [${release}-agent] [bind]`,
    "namespaces [kube-system] [get]",
    "events.events.k8s.io [create patch]",
  ].sort();
  expect(await rightsOf(usernameOf("controller"), "default")).toEqual(wanted);
  expect(await rightsOf(usernameOf("controller"), platformNamespace)).toEqual(
    [...wanted, ...lease("controller")].sort(),
  );
});

test("the webhook looks up, asks for the rights of others, and warns of its certificate", async () => {
  const wanted = [
    ...["runtimes", "persistentworkspaces", "workflowruns", "workflows", "actions"].map(
      (plural) => `${plural}.kruntimes.io [get]`,
    ),
    "subjectaccessreviews.authorization.k8s.io [create]",
  ].sort();
  expect(await rightsOf(usernameOf("webhook"), "default")).toEqual(wanted);
  expect(await rightsOf(usernameOf("webhook"), platformNamespace)).toEqual(
    [...wanted, "events.events.k8s.io [create patch]"].sort(),
  );
});

test("the run-extension-api reads Runs and the logs of Pods, and neither Secrets nor anything that it could change", async () => {
  const user = usernameOf("run-extension-api");
  const wanted = [`runs.kruntimes.io ${read}`, "pods [get]", "pods/log [get]"].sort();
  expect(await rightsOf(user, "default")).toEqual(wanted);
  expect(await rightsOf(user, platformNamespace)).toEqual([...wanted, "events.events.k8s.io [create patch]"].sort());
  // The role is Kubernetes' own: how the API server proves itself to APIs behind it.
  expect(await rightsOf(user, "kube-system")).toEqual(
    [...wanted, `configmaps [extension-apiserver-authentication] ${read}`].sort(),
  );
});

test("an agent has rights in its namespace only, and none on Secrets, ConfigMaps and new Runs", async () => {
  await using namespace = await testNamespace("rbac");
  await readyRuntime(adminClient(), bashRuntime(namespace.name));
  const user = `system:serviceaccount:${namespace.name}:runtime-bash`;
  expect(await rightsOf(user, namespace.name)).toEqual(
    [
      `runs.kruntimes.io ${read}`,
      `workflowruns.kruntimes.io ${read}`,
      "persistentworkspaces.kruntimes.io [get list watch patch act-as-agent]",
      "runs.kruntimes.io/status [update]",
      "pods [get]",
      "namespaces [get]",
      "leases.coordination.k8s.io [get create update]",
      "events.events.k8s.io [create patch]",
    ].sort(),
  );
  expect(await rightsOf(user, "default")).toEqual([]);
});
