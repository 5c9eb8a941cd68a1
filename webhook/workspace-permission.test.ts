import { expect, test } from "vitest";
import type { PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import { failure, StatusError, TransportError } from "#kube/transport.ts";
import { MalformedAccessReviewError } from "./access-review.ts";
import type { Lookups } from "./lookups.ts";
import type { Requester } from "./requester.ts";
import { childMeta, controller, lookups, owner, run, workspace } from "./testing/objects.ts";
import { judgeUse } from "./workspace-permission.ts";

const plain = { name: "shared", namespace: "n" };
const ann: Requester = { username: "ann", groups: ["devs"] };
const theController: Requester = { username: controller };
const there = async () => workspace(plain);
const allowed = async () => ({ allowed: true }) as const;
const denied = (why: string) => async () => ({ allowed: false, why }) as const;
const broken = (error: Error) => async (): Promise<never> => {
  throw error;
};

interface Case {
  readonly requester?: Requester | undefined;
  readonly run?: ReturnType<typeof run>;
  /** What may be asked; anything else that is asked makes the decision undecided. */
  readonly given: Partial<Lookups>;
  readonly want: "admitted" | "invalid" | "forbidden" | "undecided";
  readonly says?: string;
}

const child = () => run(childMeta("r"));
const jobs = async () => workspace(childMeta("shared"));
const live = async () => owner;

const cases: Record<string, Case> = {
  "P1: a request that does not say who asks is refused without a question": {
    requester: undefined,
    given: {},
    want: "undecided",
    says: "does not say who asks",
  },
  "P2: the referenced workspace must already exist": {
    given: { workspace: async () => undefined },
    want: "invalid",
    says: "there is no PersistentWorkspace shared in namespace n",
  },
  "P2: also for the controller": {
    requester: theController,
    run: child(),
    given: { workspace: async () => undefined, workflowRun: live },
    want: "invalid",
  },
  "P3: the Runtime of the workspace must be that of the Run": {
    run: run(plain, "python"),
    given: { workspace: there },
    want: "invalid",
    says: "belongs to Runtime bash, the Run asks for python",
  },
  "P3: also for the controller": {
    requester: theController,
    run: run(childMeta("r"), "python"),
    given: { workspace: jobs, workflowRun: live },
    want: "invalid",
  },
  "P4: the controller's child Run in the workspace of its job needs no review": {
    requester: theController,
    run: child(),
    given: { workspace: jobs, workflowRun: live },
    want: "admitted",
  },
  "P4: what the API server remembers is enough for a yes, and nothing else is asked": {
    requester: theController,
    run: child(),
    given: { recentWorkspace: jobs, recentWorkflowRun: live },
    want: "admitted",
  },
  "P4: a workspace that it does not remember yet is looked up as it is stored": {
    requester: theController,
    run: child(),
    given: { recentWorkspace: async () => undefined, workspace: jobs, workflowRun: live },
    want: "admitted",
  },
  "P4: so is a WorkflowRun that it does not remember yet": {
    requester: theController,
    run: child(),
    given: { recentWorkflowRun: async () => undefined, workspace: jobs, workflowRun: live },
    want: "admitted",
  },
  "P4: and a namesake that it still remembers": {
    requester: theController,
    run: child(),
    given: { recentWorkspace: there, workspace: jobs, workflowRun: live },
    want: "admitted",
  },
  "P6: what the API server remembers is nothing for anybody else": {
    given: { recentWorkspace: async () => undefined, workspace: there, mayUse: allowed },
    want: "admitted",
  },
  "P5: the controller's child Run in the workspace of another job is denied without a review": {
    requester: theController,
    run: run(childMeta("r", { job: "deploy" })),
    given: { workspace: jobs, workflowRun: live },
    want: "forbidden",
    says: "is not that of one job",
  },
  "P5: the controller in a workspace of a user is denied without a review": {
    requester: theController,
    run: child(),
    given: { workspace: there, workflowRun: live },
    want: "forbidden",
    says: "the workspace has no WorkflowRun as its controller",
  },
  "P5: a Run of the controller that is nobody's child is denied without a review": {
    requester: theController,
    given: { workspace: jobs },
    want: "forbidden",
    says: "the Run has no WorkflowRun as its controller",
  },
  "P5: a stale reference of the controller is denied without a review": {
    requester: theController,
    run: child(),
    given: { workspace: jobs, workflowRun: async () => undefined },
    want: "forbidden",
    says: "there is no WorkflowRun w with UID w-uid",
  },
  "P6: whoever has the right `use` is admitted": { given: { workspace: there, mayUse: allowed }, want: "admitted" },
  "P7: whoever has not is denied, and told what it takes": {
    given: { workspace: there, mayUse: denied("no role binds ann") },
    want: "forbidden",
    says: 'user "ann" may not use PersistentWorkspace shared in namespace n; it takes the verb "use" on persistentworkspaces/use: no role binds ann',
  },
  "P7: copied labels and owner references open no other path": {
    run: child(),
    given: { workspace: jobs, mayUse: denied("") },
    want: "forbidden",
  },
  "P6: with copied labels and owner references the right alone counts": {
    run: child(),
    given: { workspace: jobs, mayUse: allowed },
    want: "admitted",
  },
  "P7: the name of the controller with something behind it is somebody else": {
    requester: { username: `${controller}x` },
    run: child(),
    given: { workspace: jobs, mayUse: denied("") },
    want: "forbidden",
  },
  "P7: the group of the controller is not the controller": {
    requester: { username: "ann", groups: [controller, "system:serviceaccounts:kruntimes"] },
    run: child(),
    given: { workspace: jobs, mayUse: denied("") },
    want: "forbidden",
  },
  "P8: an API server that cannot look up the workspace": {
    given: { workspace: broken(new StatusError(failure(500, "InternalError", "etcd is away"))) },
    want: "undecided",
    says: "etcd is away",
  },
  "P8: an API server that cannot look up the WorkflowRun": {
    requester: theController,
    run: child(),
    given: { workspace: jobs, workflowRun: broken(new TransportError("connection reset")) },
    want: "undecided",
    says: "connection reset",
  },
  "P8: a review that fails": {
    given: { workspace: there, mayUse: broken(new StatusError(failure(403, "Forbidden", "the webhook may not ask"))) },
    want: "undecided",
    says: "the webhook may not ask",
  },
  "P8: a review that takes too long": {
    given: { workspace: there, mayUse: broken(new TransportError("no answer within 2000 ms")) },
    want: "undecided",
    says: "no answer within 2000 ms",
  },
  "P8: a review with a malformed answer": {
    given: { workspace: there, mayUse: broken(new MalformedAccessReviewError("no status")) },
    want: "undecided",
  },
  "P8: a workspace that cannot be read": {
    given: { workspace: async () => JSON.parse('{"metadata":{"name":"shared"}}') },
    want: "undecided",
  },
};

test.each(Object.entries(cases))("%s", async (_, given) => {
  const requester = "requester" in given ? given.requester : ann;
  const use = { namespace: "n", run: given.run ?? run(plain), requester };
  const verdict = await judgeUse(use, lookups(given.given), controller);
  expect(verdict.kind, JSON.stringify(verdict)).toBe(given.want);
  if (given.says !== undefined) expect(JSON.stringify(verdict).replaceAll('\\"', '"')).toContain(given.says);
});

const bound = { boundPod: "p", boundPodUID: "u", runtime: "bash" };
const states: Record<string, Partial<ReturnType<typeof workspace>>> = {
  "without a status": {},
  Pending: { status: { phase: "Pending" } },
  Bound: { status: { phase: "Bound", ...bound } },
  Lost: { status: { phase: "Lost", ...bound } },
  Released: { status: { phase: "Released", ...bound } as PersistentWorkspaceStatus },
};

test.each(Object.entries(states))(
  "a workspace that is %s is no matter of permission: the Run is admitted and waits",
  async (_, change) => {
    for (const more of [{}, { deletionTimestamp: "2026-01-01T00:00:00Z" }]) {
      const found = lookups({ workspace: async () => workspace({ ...plain, ...more }, change), mayUse: allowed });
      expect(await judgeUse({ namespace: "n", run: run(plain), requester: ann }, found, controller)).toMatchObject({
        kind: "admitted",
      });
    }
  },
);

test("the namespace of the request counts, not the one that the Run claims", async () => {
  const asked: string[] = [];
  const found = lookups({
    workspace: async (namespace, name) => {
      asked.push(`workspace ${namespace}/${name}`);
      return workspace(plain);
    },
    mayUse: async (requester, namespace, name) => {
      asked.push(`${requester.username} ${namespace}/${name}`);
      return { allowed: true };
    },
  });
  await judgeUse(
    { namespace: "n", run: run({ name: "r", namespace: "elsewhere" }), requester: ann },
    found,
    controller,
  );
  expect(asked).toEqual(["workspace n/shared", "ann n/shared"]);
});
