/** The contract of front ends: ask, hear the answer, and never take silence for an answer. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { WorkflowActionStatus } from "#api/kinds/workflow-action.ts";
import { workflowActions, workflowRuns } from "#api/resources.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { failure, StatusError, type Transport } from "#kube/transport.ts";
import { actionFailureReasons } from "#machines/workflow-action.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import {
  ActionError,
  type ActionRequest,
  actionErrorStatus,
  answerTimeoutMs,
  performAction,
  type RequestOptions,
} from "./action-request.ts";

const namespace = "default";
let plane: ControlPlane;
beforeEach(async () => {
  plane = new ControlPlane();
  await createRun();
});
afterEach(() => plane.stop());

const createRun = () => {
  const jobs = { a: { "runs-on": "bash", steps: [{ name: "one", run: "true" }] } };
  return plane.create(workflowRuns, { metadata: { name: "ci", namespace }, spec: { jobs } });
};

/** An API server that refuses some requests to whoever asks. */
function client(forbids: (method: string, path: string) => boolean = () => false) {
  const line = memoryTransport(plane.api, plane.clock);
  const check = ({ method, path }: { method?: string; path: string }) => {
    if (forbids(method ?? "GET", path)) throw new StatusError(failure(403, "Forbidden", `may not ${method} ${path}`));
  };
  const guarded: Transport = {
    ...line,
    request: async (request) => {
      check(request);
      return line.request(request);
    },
    stream: async (request) => {
      check(request);
      return line.stream(request);
    },
  } as Transport;
  return createClient(guarded);
}

/** Asks, and lets time pass until that is over. */
async function perform(
  request: Partial<ActionRequest> = {},
  options: RequestOptions = {},
  as: ReturnType<typeof client> = client(),
) {
  const deps = { client: as, clock: plane.clock, random: seededRandom(2) };
  let over = false;
  const performing = performAction({ namespace, name: "ci", action: "Resume", ...request }, deps, options)
    .catch((error: unknown) => error)
    .finally(() => {
      over = true;
    });
  await plane.until(() => over, 120_000);
  const result = await performing;
  if (result instanceof Error && !(result instanceof ActionError)) throw result;
  return result as Awaited<ReturnType<typeof performAction>> | ActionError;
}

const only = async () => {
  const { items } = await plane.client.of(workflowActions).list({ namespace });
  expect(items).toHaveLength(1);
  if (items[0] === undefined) throw new Error("there is no action");
  return items[0];
};

async function answer(status: WorkflowActionStatus): Promise<void> {
  const live = await only();
  await plane.client.of(workflowActions).update({ ...live, status }, "status");
}

/** Answers once somebody does `verb` with actions: before that request is carried out, or after it. */
function answersAt(verb: "get" | "watch", status: WorkflowActionStatus, delayMs: number): void {
  let asked = false;
  plane.api.faults.onRequest = (request) => {
    if (asked || !request.resource.startsWith("workflowactions.") || request.verb !== verb) return undefined;
    asked = true;
    plane.clock.after(delayMs, () => void answer(status));
    return { kind: "delay", ms: 50 };
  };
}

const done: WorkflowActionStatus = { phase: "Succeeded", reason: "ActionApplied", message: "it goes on" };

test.each([
  ["before it is first looked at", "get", 10],
  ["between the look and the watch", "watch", 10],
  ["while it is watched", "watch", 5000],
] as const)("an answer that comes %s is heard", async (_, verb, delayMs) => {
  answersAt(verb, done, delayMs);
  const begun = plane.clock.now();
  expect(await perform()).toMatchObject({ action: { status: done }, run: { metadata: { name: "ci" } } });
  expect(plane.clock.now() - begun).toBeLessThan(delayMs + 1000);
});

const wanted: Record<(typeof actionFailureReasons)[number], [string, number]> = {
  NothingToResume: ["InvalidArgument", 400],
  NothingToStop: ["InvalidArgument", 400],
  NothingToRetry: ["InvalidArgument", 400],
  InvalidNodeFieldSelector: ["InvalidArgument", 400],
  InvalidOutputParameters: ["InvalidArgument", 400],
  InvalidInputs: ["InvalidArgument", 400],
  UnsupportedAction: ["InvalidArgument", 400],
  WorkflowCompleted: ["FailedPrecondition", 409],
  WorkflowNotCompleted: ["FailedPrecondition", 409],
  ArtifactMissing: ["FailedPrecondition", 409],
  WorkflowNotFound: ["NotFound", 404],
};

test.each(actionFailureReasons)(
  "a refusal with %s has its code, its reason and the name of the action",
  async (reason) => {
    answersAt("get", { phase: "Failed", reason, message: "no" }, 10);
    const refused = await perform();
    const [code, status] = wanted[reason];
    expect(refused).toMatchObject({
      name: "ActionError",
      code,
      reason,
      message: "no",
      action: expect.stringMatching(/^ci-/),
    });
    expect(actionErrorStatus[code as keyof typeof actionErrorStatus]).toBe(status);
  },
);

test("without an answer it ends after 30 s, and names the action, which stays", async () => {
  const begun = plane.clock.now();
  const late = await perform();
  expect(plane.clock.now() - begun).toBe(answerTimeoutMs);
  const { name } = (await only()).metadata;
  expect(late).toMatchObject({ code: "DeadlineExceeded", action: name });
  expect((late as ActionError).message).toContain(`WorkflowAction ${name} was accepted and not answered within 30 s`);
  expect(actionErrorStatus.DeadlineExceeded).toBe(504);
});

test("a caller that gives up is not told of a time-out", async () => {
  const caller = new AbortController();
  plane.clock.after(2000, () => caller.abort());
  const left = await perform({}, { signal: caller.signal });
  expect(left).toMatchObject({ code: "Cancelled", action: (await only()).metadata.name });
});

test("a deadline of the caller counts before ours, and is reported as the caller's", async () => {
  const caller = new AbortController();
  plane.clock.after(2000, () => caller.abort(new DOMException("late", "TimeoutError")));
  const begun = plane.clock.now();
  const left = await perform({}, { signal: caller.signal });
  expect(plane.clock.now() - begun).toBe(2000);
  expect(left).toMatchObject({ code: "DeadlineExceeded", message: expect.stringContaining("your own deadline") });
});

/** Deletes the action. */
const remove = () => void only().then(({ metadata }) => plane.client.of(workflowActions).delete(metadata));

test.each([
  ["while it is watched", () => plane.clock.after(1000, remove)],
  [
    "before it is first looked at",
    () => {
      plane.api.faults.onRequest = ({ verb, resource }) => {
        if (verb !== "get" || !resource.startsWith("workflowactions.")) return undefined;
        plane.api.faults.onRequest = undefined;
        remove();
        return { kind: "delay", ms: 50 };
      };
    },
  ],
])("an action that is deleted %s is not found, by name", async (_, deletes) => {
  deletes();
  const gone = await perform();
  expect(gone).toMatchObject({ code: "NotFound", action: expect.stringMatching(/^ci-resume-/) });
  expect((gone as ActionError).message).toContain(`WorkflowAction ${(gone as ActionError).action} was deleted`);
});

test("a watch that breaks again and again costs a little time and no answer", async () => {
  let breaks = 3;
  plane.api.faults.onWatchEvent = () => (breaks-- > 0 ? { disconnect: true } : undefined);
  const touch = async () => {
    const { metadata } = await only();
    await plane.client.of(workflowActions).patch(metadata, { metadata: { labels: { at: `${plane.clock.now()}` } } });
  };
  for (const at of [500, 1500, 2500]) plane.clock.after(at, () => void touch());
  plane.clock.after(10_000, () => void answer(done));
  expect(await perform()).toMatchObject({ action: { status: done } });
  expect(breaks).toBeLessThanOrEqual(0);
});

test("the target is pinned: a run of that name that comes meanwhile is not meant", async () => {
  const old = (await plane.find(workflowRuns, "ci"))?.metadata.uid;
  plane.api.faults.onRequest = ({ verb, resource }) => {
    if (verb !== "create" || !resource.startsWith("workflowactions.")) return undefined;
    void plane.client
      .of(workflowRuns)
      .delete({ name: "ci", namespace })
      .then(() => createRun());
    return { kind: "delay", ms: 50 };
  };
  await perform({}, { wait: false });
  expect((await only()).spec.workflowRef).toEqual({ name: "ci", uid: old });
  expect((await plane.find(workflowRuns, "ci"))?.metadata.uid).not.toBe(old);
});

test("a run that does not exist is not found before anything is created", async () => {
  expect(await perform({ name: "absent" })).toMatchObject({ code: "NotFound", action: undefined });
  expect((await plane.client.of(workflowActions).list({ namespace })).items).toEqual([]);
});

const isRun = (path: string) => path.includes("/workflowruns");
const isAction = (path: string) => path.includes("/workflowactions");

test("whoever may only create actions can ask, without the pin, and without waiting", async () => {
  const creator = client((method, path) => isRun(path) || (isAction(path) && method !== "POST"));
  expect(await perform({}, { wait: false }, creator)).toMatchObject({ action: { spec: { action: "Resume" } } });
  expect((await only()).spec.workflowRef).toEqual({ name: "ci" });
});

test("whoever may not see the answer is told so, with the name of what was created", async () => {
  const creator = client((method, path) => isAction(path) && method !== "POST");
  const blind = await perform({}, {}, creator);
  expect(blind).toMatchObject({ code: "PermissionDenied", action: (await only()).metadata.name });
  expect(actionErrorStatus.PermissionDenied).toBe(403);
});

test("whoever may not read runs hears the answer, without the run", async () => {
  answersAt("get", done, 10);
  const performed = await perform(
    {},
    {},
    client((_, path) => isRun(path)),
  );
  expect(performed).toMatchObject({ action: { status: done } });
  expect(performed).not.toHaveProperty("run");
});

test("on success the run is read again: it is as the action left it", async () => {
  answersAt("watch", done, 500);
  plane.clock.after(400, () => {
    void (async () => {
      const run = await plane.client.of(workflowRuns).get({ name: "ci", namespace });
      await plane.client.of(workflowRuns).patch(run.metadata, { metadata: { labels: { after: "it" } } });
    })();
  });
  expect(await perform()).toMatchObject({ run: { metadata: { labels: { after: "it" } } } });
});
