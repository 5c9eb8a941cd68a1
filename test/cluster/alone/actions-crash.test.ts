/**
 * The controller is killed between the writes that an action takes, on a real Kubernetes. What holds it at the point is the API
 * server: a policy refuses it the next write, in one namespace for each point. Another replica goes on, and each action has had one
 * effect and one answer.
 */
import { beforeAll, expect, test } from "vitest";
import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { workflowActions, workflowRuns } from "#api/resources.ts";
import { apiVersionOf } from "#kube/builtin.ts";
import { pathOf, type ResourceType } from "#kube/resource.ts";
import { crash, leaderOf } from "../leader.ts";
import { clientAs, installPlatform, platformNamespace, usernameOf } from "../platform.ts";
import { adminClient, apply, attempt, kubectl, testNamespace, until } from "../support.ts";

beforeAll(() => installPlatform());

interface Point {
  readonly purpose: string;
  /** CEL: which status writes of runs and actions the controller may make. */
  readonly passes: string;
  /** The actions and the run, once the controller stands at the point. */
  readonly stands: (run: WorkflowRun, actions: readonly WorkflowAction[]) => boolean;
}

const records = (object: string) =>
  `(has(${object}.status.appliedActions) ? size(${object}.status.appliedActions) : 0)`;
const isPending = ({ status }: WorkflowAction) => (status?.phase ?? "Pending") === "Pending";
const recorded = ({ status }: WorkflowRun) => status?.appliedActions?.length ?? 0;

const points: Record<string, Point> = {
  "after the drain, before the status is written": {
    purpose: "drained",
    passes: "request.resource.resource == 'workflowactions'",
    stands: (run, actions) => actions.every(isPending) && recorded(run) === 0,
  },
  "after the status was written, before the actions are answered": {
    purpose: "stored",
    passes: "request.resource.resource == 'workflowruns'",
    stands: (run, actions) => actions.every(isPending) && recorded(run) === 2,
  },
  "after the actions were answered, before their records go": {
    purpose: "answered",
    passes: `request.resource.resource == 'workflowactions' || ${records("object")} >= ${records("oldObject")}`,
    stands: (run, actions) => !actions.some(isPending) && recorded(run) > 0,
  },
};

/** What a policy says to the controller; it stands in its log then. */
const refusalIn = (namespace: string) => `held at the point of ${namespace}`;

/** A status with this message passes no policy: so it is tried whether they are in force. */
const probe = "probe";

function policy(namespace: string, { passes }: Point): object[] {
  const isController = `request.userInfo.username == '${usernameOf("controller")}'`;
  const isProbe = `(has(object.status.message) && object.status.message == '${probe}')`;
  const resources = ["workflowruns/status", "workflowactions/status"];
  const rule = { apiGroups: ["kruntimes.io"], apiVersions: ["*"], operations: ["UPDATE"], resources };
  const apiVersion = "admissionregistration.k8s.io/v1";
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  return [
    {
      apiVersion,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: namespace },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        matchConditions: [{ name: "the-controller", expression: isController }],
        validations: [{ expression: `!${isProbe} && (${passes})`, message: refusalIn(namespace) }],
      },
    },
    {
      apiVersion,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: namespace },
      spec: { policyName: namespace, validationActions: ["Deny"], matchResources: { namespaceSelector } },
    },
  ];
}

/** What a policy says to a write of the controller that changes nothing. */
async function tried(namespace: string): Promise<string> {
  const run = await adminClient().of(workflowRuns).get({ name: "ci", namespace });
  const body = { ...run, ...typeMeta, status: { ...run.status, message: probe } };
  const path = pathOf(workflowRuns, { namespace, name: "ci", subresource: "status" });
  const { transport } = clientAs({ user: usernameOf("controller") });
  const answer = transport.request({ method: "PUT", path, query: { dryRun: "All" }, body });
  return answer.then(() => "passes").catch((error: unknown) => String(error));
}

const typeMeta = { apiVersion: apiVersionOf(workflowRuns), kind: workflowRuns.kind };

/** Everything different that is ever seen of the objects of a kind in a namespace. */
function storyOf<T extends KubeObject>(resource: ResourceType<T>, namespace: string, say: (object: T) => string) {
  const ending = new AbortController();
  const lines: string[] = [];
  const listen = async () => {
    while (!ending.signal.aborted) {
      try {
        for await (const event of await adminClient().of(resource).watch({ namespace, signal: ending.signal })) {
          if (event.type !== "ADDED" && event.type !== "MODIFIED") continue;
          const line = say(event.object);
          if (!lines.includes(line) || lines.at(-1) !== line) lines.push(line);
        }
      } catch (error) {
        if (!ending.signal.aborted) throw error;
      }
    }
  };
  const ended = listen();
  return {
    lines,
    async end() {
      ending.abort();
      await ended;
    },
  };
}

test("killed at any of three points, another controller goes on: one effect and one answer for each action", async () => {
  const admin = adminClient();
  await using cleanup = new AsyncDisposableStack();
  const cases: { readonly point: Point; readonly what: string; readonly namespace: string }[] = [];
  for (const [what, point] of Object.entries(points)) {
    const { name: namespace } = cleanup.use(await testNamespace(point.purpose));
    cleanup.defer(async () => {
      await attempt("kubectl", ["delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", namespace]);
    });
    cases.push({ point, what, namespace });
    // It waits for a Runtime that there is none of: nothing but actions happens to it.
    const jobs = { a: { "runs-on": "none", steps: [{ name: "wait", run: "true" }] } };
    await admin.of(workflowRuns).create({ metadata: { name: "ci", namespace }, spec: { jobs } });
  }
  const ref = (namespace: string) => ({ name: "ci", namespace });
  for (const { namespace } of cases) {
    await until(admin, workflowRuns, ref(namespace), ({ status }) => {
      return status?.conditions?.some(({ type }) => type === "WorkspaceReady") ?? false;
    });
  }
  const ask = (namespace: string, name: string, action: string) =>
    admin.of(workflowActions).create({ metadata: { name, namespace }, spec: { workflowRef: { name: "ci" }, action } });
  const asked = async (namespace: string) => (await admin.of(workflowActions).list({ namespace })).items;

  const stories = cases.map(({ namespace }) => ({
    run: storyOf(workflowRuns, namespace, ({ status }) => `${status?.suspended ?? false}`),
    actions: storyOf(workflowActions, namespace, ({ metadata, status }) => {
      return `${metadata.name} ${status?.phase ?? "Pending"} ${status?.reason ?? ""}`.trim();
    }),
  }));
  for (const { point, namespace } of cases) {
    await apply(policy(namespace, point) as KubeObject[]);
    await expect.poll(() => tried(namespace), { timeout: 20_000 }).toContain(refusalIn(namespace));
  }

  const leader = await leaderOf("controller");
  for (const { namespace } of cases) {
    await ask(namespace, "a-suspend", "Suspend");
    await ask(namespace, "b-resume", "Resume");
  }
  for (const { point, what, namespace } of cases) {
    await expect
      .poll(() => kubectl(["logs", leader, "-n", platformNamespace, "--since=2m"]), { timeout: 20_000 })
      .toContain(refusalIn(namespace));
    const stands = async () => point.stands(await admin.of(workflowRuns).get(ref(namespace)), await asked(namespace));
    await expect.poll(stands, { timeout: 20_000, message: what }).toBe(true);
  }
  await crash(leader);
  for (const { namespace } of cases) {
    await kubectl(["delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", namespace]);
  }

  for (const { what, namespace } of cases) {
    for (const name of ["a-suspend", "b-resume"]) {
      const { status } = await until(admin, workflowActions, { name, namespace }, (action) => !isPending(action));
      expect(status, `${what}: ${name}`).toMatchObject({ phase: "Succeeded", reason: "ActionApplied" });
    }
    const { status, metadata } = await until(admin, workflowRuns, ref(namespace), (run) => recorded(run) === 0);
    expect(status?.phase, what).toBe("Running");
    expect(metadata.labels, what).toMatchObject({ "workflows.kruntimes.io/action": "Resume" });
  }
  for (const [index, { what }] of cases.entries()) {
    const { run, actions } = stories[index] ?? {};
    await Promise.all([run?.end(), actions?.end()]);
    expect(run?.lines.filter((line) => line === "true").length, what).toBeLessThanOrEqual(1);
    expect(run?.lines.at(-1), what).toBe("false");
    expect(actions?.lines.filter((line) => line.includes("Succeeded")).sort(), what).toEqual([
      "a-suspend Succeeded ActionApplied",
      "b-resume Succeeded ActionApplied",
    ]);
  }
});
