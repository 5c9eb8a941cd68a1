/** WorkflowActions on a real API server: by plain kubectl, with the rights of people, and the policies on single verbs. */
import { beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { KubeObject, ObjectMeta } from "#api/meta.ts";
import { workflowActions, workflowRuns, workflows } from "#api/resources.ts";
import { isForbidden } from "#kube/transport.ts";
import { objectsOfGuide } from "#test/support/guide-objects.ts";
import { bashRuntime, clientAs, installPlatform, platformValues, readyRuntime } from "./platform.ts";
import { adminClient, apply, attempt, helm, kubectl, testNamespace, until } from "./support.ts";

beforeAll(() => installPlatform());

const sleeping = { a: { "runs-on": "bash", steps: [{ name: "sleep", run: "sleep 300" }] } };
const asks = (name: string, action: string) => ({
  metadata: { generateName: "ask-" } as unknown as ObjectMeta,
  spec: { workflowRef: { name }, action },
});

test("kubectl create and kubectl wait: a Resume with nothing suspended is answered at once, a Stop ends the run", async () => {
  const admin = adminClient();
  await using namespace = await testNamespace("actions");
  await readyRuntime(admin, bashRuntime(namespace.name));
  await admin
    .of(workflowRuns)
    .create({ metadata: { name: "ci", namespace: namespace.name }, spec: { jobs: sleeping } });
  await until(
    admin,
    workflowRuns,
    { name: "ci", namespace: namespace.name },
    ({ status }) => status?.phase === "Running",
  );
  const answer = async (action: string) => {
    const manifest = { apiVersion: "kruntimes.io/v1alpha1", kind: "WorkflowAction", ...asks("ci", action) };
    const made = await kubectl(["create", "-n", namespace.name, "-o", "name", "-f", "-"], {
      input: JSON.stringify(manifest),
    });
    const begun = performance.now();
    await kubectl(["wait", "-n", namespace.name, "--for=condition=Finished", "--timeout=20s", made.trim()]);
    const took = performance.now() - begun;
    const said = await kubectl([
      "get",
      "-n",
      namespace.name,
      made.trim(),
      "-o",
      "jsonpath={.status.phase} {.status.reason}",
    ]);
    return { said, took };
  };
  const resumed = await answer("Resume");
  expect(resumed.said).toBe("Failed NothingToResume");
  expect(resumed.took).toBeLessThan(3000);
  expect((await answer("Stop")).said).toBe("Succeeded ActionApplied");
  const ended = await until(
    admin,
    workflowRuns,
    { name: "ci", namespace: namespace.name },
    ({ status }) => status?.phase === "Failed",
  );
  expect(ended.status?.reason).toBe("Stopped");
  expect((await answer("Retry")).said).toBe("Succeeded ActionApplied");
  const again = await until(
    admin,
    workflowRuns,
    { name: "ci", namespace: namespace.name },
    ({ status }) => status?.attempt === 2,
  );
  expect(again.status?.phase).toBe("Running");
  expect((await answer("Terminate")).said).toBe("Succeeded ActionApplied");
});

test("inputs of a Retry are judged at admission by the frozen Workflow, and what fits runs again", async () => {
  const admin = adminClient();
  await using namespace = await testNamespace("retries");
  await readyRuntime(admin, bashRuntime(namespace.name));
  const ci = { name: "ci", namespace: namespace.name };
  const steps = [{ name: "s", run: "test ${{ inputs.region }} = south" }];
  const inputs = { region: { type: "choice" as const, options: ["north", "south"], default: "north" } };
  const workflow = await admin
    .of(workflows)
    .create({ metadata: ci, spec: { inputs, jobs: { a: { "runs-on": "bash", steps } } } });
  await admin.of(workflowRuns).create({ metadata: ci, spec: { workflowRef: { name: "ci" } } });
  await until(admin, workflowRuns, ci, ({ status }) => status?.phase === "Failed");
  // The live one does not count any more.
  await admin.of(workflows).delete(workflow.metadata);
  const retry = (region: string) => {
    const { metadata, spec } = asks("ci", "Retry");
    return admin.of(workflowActions).create({
      metadata: { ...metadata, namespace: namespace.name },
      spec: { ...spec, retry: { inputs: { region } } },
    });
  };
  await expect(retry("east")).rejects.toThrow('"east" is none of the options. Choose one of north and south.');
  await retry("south");
  const ended = await until(admin, workflowRuns, ci, ({ status }) => status?.phase === "Succeeded");
  expect(ended.status).toMatchObject({ attempt: 2, inputs: { region: "south" } });
});

test("who may only create actions can stop a run, and cannot change it; a policy forbids one action to a group", async () => {
  const admin = adminClient();
  await using namespace = await testNamespace("operators");
  const policy = `deny-terminate-${namespace.name}`;
  const selector = { matchLabels: { "kubernetes.io/metadata.name": namespace.name } };
  const rules = [{ apiGroups: ["kruntimes.io"], resources: ["workflowactions"], verbs: ["create"] }];
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role" };
  const [rule, binding] = (await objectsOfGuide("actions.md")).filter(({ kind }) => kind?.startsWith("Validating"));
  const objects = [
    { ...role, metadata: { name: "operator", namespace: namespace.name }, rules },
    { ...rule, metadata: { name: policy } },
    // For this namespace alone.
    {
      ...binding,
      metadata: { name: policy },
      spec: { ...binding?.spec, policyName: policy, matchResources: { namespaceSelector: selector } },
    },
  ];
  await apply(objects as unknown as KubeObject[]);
  try {
    await kubectl(["create", "rolebinding", "operator", "-n", namespace.name, "--role=operator", "--group=developers"]);
    await admin
      .of(workflowRuns)
      .create({ metadata: { name: "ci", namespace: namespace.name }, spec: { jobs: sleeping, suspend: true } });
    const developer = clientAs({ user: "dev", groups: ["developers", "system:authenticated"] });
    const create = (action: string) =>
      developer
        .of(workflowActions)
        .create({ ...asks("ci", action), metadata: { ...asks("ci", action).metadata, namespace: namespace.name } });
    // A policy takes a moment to be in force: it is tried on a run that does not exist.
    const probe = () =>
      developer.of(workflowActions).create({
        ...asks("absent", "Terminate"),
        metadata: { ...asks("absent", "Terminate").metadata, namespace: namespace.name },
      });
    await expect
      .poll(() => probe().catch((error: unknown) => String(error)), { timeout: 15_000 })
      .toContain("developers may not terminate workflows");
    const patched = await developer
      .of(workflowRuns)
      .patch({ name: "ci", namespace: namespace.name }, { spec: { suspend: false } })
      .catch((error: unknown) => error);
    expect(isForbidden(patched)).toBe(true);
    await create("Stop");
    await until(
      admin,
      workflowRuns,
      { name: "ci", namespace: namespace.name },
      ({ status }) => status?.reason === "Stopped",
    );
  } finally {
    await kubectl(["delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", policy]);
  }
});

test("the manifests of the guide are accepted, and its Roles are enough to act and to hear what came of it", async () => {
  const admin = adminClient();
  await using namespace = await testNamespace("guide");
  const objects = await objectsOfGuide("actions.md");
  expect(objects.map(({ kind = "a part" }) => kind).sort()).toEqual([
    "Role",
    "Role",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "WorkflowAction",
    "a part",
  ]);
  for (const object of objects) {
    const whole =
      object.kind === undefined
        ? { apiVersion: "kruntimes.io/v1alpha1", kind: "WorkflowAction", ...object, metadata: { generateName: "x-" } }
        : object;
    const args = ["create", "-n", namespace.name, "--dry-run=server", "-f", "-"];
    await kubectl(args, { input: JSON.stringify(whole) });
  }
  await apply(
    objects.filter(({ kind }) => kind === "Role"),
    namespace.name,
  );
  const bind = (role: string) => ["create", "rolebinding", role, "-n", namespace.name, `--role=${role}`, "--user=op"];
  await kubectl(bind("workflow-operator"));
  await admin
    .of(workflowRuns)
    .create({ metadata: { name: "ci", namespace: namespace.name }, spec: { jobs: sleeping, suspend: true } });
  const can = async (verb: string, resource: string) =>
    (await attempt("kubectl", ["auth", "can-i", verb, resource, "-n", namespace.name, "--as=op"])).stdout.trim();
  const action = { apiVersion: "kruntimes.io/v1alpha1", kind: "WorkflowAction", ...asks("ci", "Stop") };
  const as = ["-n", namespace.name, "--as=op"];
  const made = await kubectl(["create", ...as, "-o", "name", "-f", "-"], { input: JSON.stringify(action) });
  await kubectl(["wait", ...as, "--for=condition=Succeeded", "--timeout=20s", made.trim()]);
  expect([await can("patch", "workflowruns"), await can("resume", "workflowruns")]).toEqual(["no", "no"]);
  await kubectl(bind("workflow-pauser"));
  expect([await can("resume", "workflowruns/ci"), await can("stop", "workflowruns/ci")]).toEqual(["yes", "no"]);
});

test("the policy of the chart asks for the verb of the action on the WorkflowRun", async () => {
  await using namespace = await testNamespace("verbs");
  const values = { ...(await platformValues()), policies: { enabled: true, workflowActionVerbs: true } };
  const rendered = await helm(
    [
      "template",
      "verbs",
      "charts/kruntimes",
      "--kube-version",
      "1.34.0",
      "--show-only",
      "templates/action-verbs.yaml",
      "--values",
      "-",
    ],
    { input: JSON.stringify(values) },
  );
  const selector = { matchLabels: { "kubernetes.io/metadata.name": namespace.name } };
  const objects = parseAllDocuments(rendered).map((document) => document.toJS() as KubeObject & { spec: object });
  await apply(
    objects.map((object) =>
      object.metadata.labels !== undefined && "policyName" in object.spec
        ? { ...object, spec: { ...object.spec, matchResources: { namespaceSelector: selector } } }
        : object,
    ),
  );
  const name = objects[0]?.metadata.name ?? "";
  try {
    const rules = [
      { apiGroups: ["kruntimes.io"], resources: ["workflowactions"], verbs: ["create"] },
      { apiGroups: ["kruntimes.io"], resources: ["workflowruns"], resourceNames: ["ci"], verbs: ["stop"] },
    ];
    await apply([
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: { name: "stopper", namespace: namespace.name },
        rules,
      },
    ] as unknown as KubeObject[]);
    await kubectl(["create", "rolebinding", "stopper", "-n", namespace.name, "--role=stopper", "--user=stopper"]);
    const stopper = clientAs({ user: "stopper", groups: ["system:authenticated"] });
    const create = (target: string, action: string) =>
      stopper
        .of(workflowActions)
        .create({ ...asks(target, action), metadata: { ...asks(target, action).metadata, namespace: namespace.name } });
    await expect
      .poll(() => create("ci", "Terminate").catch((error: unknown) => String(error)), { timeout: 15_000 })
      .toContain("stopper may not terminate WorkflowRun ci");
    await expect(create("other", "Stop")).rejects.toMatchObject({ code: 403 });
    await expect(create("ci", "Retry")).rejects.toMatchObject({ code: 403 });
    expect((await create("ci", "Stop")).spec.action).toBe("Stop");
  } finally {
    await kubectl(["delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", name]);
  }
});
