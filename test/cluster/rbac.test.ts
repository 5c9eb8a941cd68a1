/** What each identity of the platform may do, asked of the API server: the table that the documentation shows, and no more. */
import { beforeAll, expect, test } from "vitest";
import { bashRuntime, installPlatform, platformNamespace, readyRuntime, release } from "./platform.ts";
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

const lease = (component: string) => [
  "leases.coordination.k8s.io [create]",
  `leases.coordination.k8s.io [kruntimes-${component}] [get update]`,
];

interface Rights {
  readonly everywhere: readonly string[];
  /** In the namespace of the platform, beyond that. */
  readonly atHome?: readonly string[];
  /** In kube-system, beyond the first. */
  readonly inKubeSystem?: readonly string[];
}

const written = ["actions", "persistentworkspaces", "runs", "runtimes", "workflowactions", "workflowruns", "workflows"];

/** By component: all that its ServiceAccount may do. None sees a Secret, none can enter a Pod. */
const table: Record<string, Rights> = {
  scheduler: {
    everywhere: [
      `persistentworkspaces.kruntimes.io ${read}`,
      `pods ${read}`,
      `replicasets.apps ${read}`,
      `runs.kruntimes.io ${read}`,
      `runtimes.kruntimes.io ${read}`,
      "events.events.k8s.io [create patch]",
      "runs.kruntimes.io/status [patch]",
    ],
    atHome: lease("scheduler"),
  },
  controller: {
    everywhere: [
      ...["runtimes", "workflows", "actions"].map((plural) => `${plural}.kruntimes.io ${read}`),
      ...["runs", "persistentworkspaces", "workflowruns"].map(
        (plural) => `${plural}.kruntimes.io [get list watch create patch delete]`,
      ),
      "workflowactions.kruntimes.io [get list watch delete]",
      ...written.map((plural) => `${plural}.kruntimes.io/status [update]`),
      "runtimes.kruntimes.io/finalizers [update]",
      "workflowruns.kruntimes.io/finalizers [update]",
      "replicasets.apps [get list watch create update delete]",
      "controllerrevisions.apps [get create]",
      "pods [get list watch patch]",
      "serviceaccounts [get list watch create patch]",
      "networkpolicies.networking.k8s.io [get list watch create patch]",
      "rolebindings.rbac.authorization.k8s.io [get list watch create patch delete]",
      `clusterroles.rbac.authorization.k8s.io [${release}-agent] [bind]`,
      "namespaces [kube-system] [get]",
      "events.events.k8s.io [create patch]",
    ],
    atHome: lease("controller"),
  },
  webhook: {
    everywhere: [
      ...["runtimes", "persistentworkspaces", "workflowruns", "workflows", "actions"].map(
        (plural) => `${plural}.kruntimes.io [get]`,
      ),
      "controllerrevisions.apps [get]",
      "subjectaccessreviews.authorization.k8s.io [create]",
    ],
    // It warns of the end of its certificate.
    atHome: ["events.events.k8s.io [create patch]"],
  },
  "run-extension-api": {
    everywhere: [`runs.kruntimes.io ${read}`, "pods [get]", "pods/log [get]"],
    atHome: ["events.events.k8s.io [create patch]"],
    // The role is Kubernetes' own: how the API server proves itself to APIs behind it.
    inKubeSystem: [`configmaps [extension-apiserver-authentication] ${read}`],
  },
};

test("every identity of the platform has a row in the table", async () => {
  const names = await kubectl(["get", "serviceaccounts", "-n", platformNamespace, "-o", "name"]);
  const own = names.split("\n").flatMap((line) => (line.includes(release) ? [line.split(`${release}-`)[1]] : []));
  expect(own.sort()).toEqual(Object.keys(table).sort());
});

test.each(Object.entries(table))("the %s may do what is in the table, and nothing else", async (name, rights) => {
  const user = `system:serviceaccount:${platformNamespace}:${release}-${name}`;
  const { everywhere, atHome = [], inKubeSystem = [] } = rights;
  expect(await rightsOf(user, "default")).toEqual([...everywhere].sort());
  expect(await rightsOf(user, platformNamespace)).toEqual([...everywhere, ...atHome].sort());
  expect(await rightsOf(user, "kube-system")).toEqual([...everywhere, ...inKubeSystem].sort());
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
