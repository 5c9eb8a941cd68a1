/** How front ends ask for something of a WorkflowRun and hear what became of it; with the identity of whoever asks. */
import type { WorkflowAction, WorkflowActionSpec, WorkflowActionVerb } from "#api/kinds/workflow-action.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { annotations, labels } from "#api/labels.ts";
import type { KubeObject, ObjectMeta } from "#api/meta.ts";
import { labelValue } from "#api/names.ts";
import { workflowActions, workflowRuns } from "#api/resources.ts";
import type { Clock, Random } from "#kube/ports.ts";
import type { Client, ResourceType } from "#kube/resource.ts";
import { isNotFound, StatusError } from "#kube/transport.ts";
import { DeletedError, watchObject } from "#kube/watch-object.ts";
import type { ActionFailureReason } from "#machines/workflow-action.ts";

/** What an answer means for whoever asked, with the status of HTTP that says the same. */
export const actionErrorStatus = {
  InvalidArgument: 400,
  PermissionDenied: 403,
  NotFound: 404,
  FailedPrecondition: 409,
  Cancelled: 499,
  DeadlineExceeded: 504,
} as const;
export type ActionErrorCode = keyof typeof actionErrorStatus;

const codes: Readonly<Record<ActionFailureReason, ActionErrorCode>> = {
  WorkflowNotFound: "NotFound",
  WorkflowCompleted: "FailedPrecondition",
  WorkflowNotCompleted: "FailedPrecondition",
  ArtifactMissing: "FailedPrecondition",
  NothingToResume: "InvalidArgument",
  NothingToStop: "InvalidArgument",
  NothingToRetry: "InvalidArgument",
  InvalidNodeFieldSelector: "InvalidArgument",
  InvalidOutputParameters: "InvalidArgument",
  InvalidInputs: "InvalidArgument",
  UnsupportedAction: "InvalidArgument",
};

/**
 * The action was refused, or it is not known what became of it.
 *
 * What to do: tell the message; `action` names the WorkflowAction, which can be looked at later.
 */
export class ActionError extends Error {
  override readonly name = "ActionError";
  readonly code: ActionErrorCode;
  /** Reason of the refusal; absent where nobody has answered. */
  readonly reason: string | undefined;
  /** Name of the WorkflowAction; absent when none was created. */
  readonly action: string | undefined;

  constructor(
    code: ActionErrorCode,
    message: string,
    more: { reason?: string; action?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.reason = more.reason;
    this.action = more.action;
  }
}

export interface ActionRequest {
  readonly namespace: string;
  /** The WorkflowRun. */
  readonly name: string;
  readonly action: WorkflowActionVerb;
  readonly parameters?: Pick<WorkflowActionSpec, "resume" | "stop" | "retry">;
}

export interface RequestOptions {
  /** How long the answer is waited for, in milliseconds; default 30,000. */
  readonly timeoutMs?: number;
  /** Default true. Without waiting nothing but the right to create is needed. */
  readonly wait?: boolean;
  /** The caller does not want to know any more; `AbortSignal.timeout` is a deadline of its own, and reported as that. */
  readonly signal?: AbortSignal;
}

export interface Performed {
  readonly action: WorkflowAction;
  /** The run after the action; absent without waiting, and where it may not be read. */
  readonly run?: WorkflowRun;
}

export interface RequestDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
}

/** As long as front ends wait for an answer. */
export const answerTimeoutMs = 30_000;

/**
 * Creates a WorkflowAction and waits for its answer.
 *
 * @throws ActionError when it is refused or nobody answers; StatusError when the API server will not have it
 */
export async function performAction(
  request: ActionRequest,
  deps: RequestDeps,
  { timeoutMs = answerTimeoutMs, wait = true, signal }: RequestOptions = {},
): Promise<Performed> {
  const { client } = deps;
  const [uid, creator] = await Promise.all([uidOf(request, client), whoAmI(client)]);
  const created = await client
    .of(workflowActions)
    .create(actionFor(request, uid, creator), { fieldValidation: "Strict" });
  if (!wait) return { action: created };
  const action = await answered(created, deps, timeoutMs, signal);
  const { reason, message = "", phase } = action.status ?? { phase: "Pending" };
  if (phase === "Failed") {
    const code = codes[reason as ActionFailureReason] ?? "FailedPrecondition";
    throw new ActionError(code, message, { action: action.metadata.name, ...(reason !== undefined && { reason }) });
  }
  const run = await orUnknown(client.of(workflowRuns).get({ name: request.name, namespace: request.namespace }));
  return { action, ...(run !== undefined && { run }) };
}

function actionFor(
  { namespace, name, action, parameters }: ActionRequest,
  uid: string | undefined,
  creator: string | undefined,
): WorkflowAction {
  const metadata = {
    namespace,
    generateName: `${name}-${action.toLowerCase()}-`,
    labels: {
      [labels.workflowRun]: labelValue(name),
      ...(creator !== undefined && { [labels.creator]: labelValue(creator) }),
    },
    ...(creator !== undefined && { annotations: { [annotations.creator]: creator } }),
  };
  const workflowRef = { name, ...(uid !== undefined && { uid }) };
  // The name is the server's to give.
  return { metadata: metadata as unknown as ObjectMeta, spec: { workflowRef, action, ...parameters } };
}

async function answered(
  { metadata: { name, namespace } }: WorkflowAction,
  { client, clock, random }: RequestDeps,
  timeoutMs: number,
  caller: AbortSignal | undefined,
): Promise<WorkflowAction> {
  const limit = new AbortController();
  const leave = () => limit.abort();
  caller?.addEventListener("abort", leave, { once: true });
  if (caller?.aborted) leave();
  const cancel = clock.after(timeoutMs, leave);
  try {
    const until = ({ status }: WorkflowAction) => status?.phase === "Succeeded" || status?.phase === "Failed";
    const action = await watchObject(
      workflowActions,
      { name, namespace },
      { until, signal: limit.signal },
      { client, clock, random },
    );
    if (action !== undefined) return action;
    // The caller's own deadline is the caller's business: it is not told of ours.
    if (caller?.aborted) throw abandoned(name, caller.reason);
    const message = `WorkflowAction ${name} was accepted and not answered within ${timeoutMs / 1000} s; it may still be`;
    throw new ActionError("DeadlineExceeded", message, { action: name });
  } catch (error) {
    if (error instanceof DeletedError || isNotFound(error)) {
      throw new ActionError("NotFound", `WorkflowAction ${name} was deleted before it was answered`, {
        action: name,
        cause: error,
      });
    }
    if (error instanceof StatusError && error.code === 403) {
      const message = `WorkflowAction ${name} was created, and you may not see what becomes of it`;
      throw new ActionError("PermissionDenied", message, { action: name, cause: error });
    }
    throw error;
  } finally {
    cancel();
    caller?.removeEventListener("abort", leave);
  }
}

function abandoned(action: string, why: unknown): ActionError {
  const isLate = why instanceof DOMException && why.name === "TimeoutError";
  return isLate
    ? new ActionError("DeadlineExceeded", `your own deadline passed before WorkflowAction ${action} was answered`, {
        action,
      })
    : new ActionError("Cancelled", `nobody waits for WorkflowAction ${action} any more`, { action });
}

/** The uid pins the target, so that a namesake that comes after it is not hit. */
async function uidOf({ name, namespace }: ActionRequest, client: Client): Promise<string | undefined> {
  try {
    return (await client.of(workflowRuns).get({ name, namespace })).metadata.uid;
  } catch (error) {
    if (isNotFound(error)) {
      throw new ActionError("NotFound", `there is no WorkflowRun ${name} in namespace ${namespace}`, { cause: error });
    }
    if (error instanceof StatusError && error.code === 403) return undefined;
    throw error;
  }
}

interface SelfReview extends KubeObject {
  readonly status?: { readonly userInfo?: { readonly username?: string } };
}

const selfReviews: ResourceType<SelfReview> = {
  group: "authentication.k8s.io",
  version: "v1",
  kind: "SelfSubjectReview",
  plural: "selfsubjectreviews",
  namespaced: false,
};

/** Who asks, as the cluster knows them; undefined where it does not tell. */
async function whoAmI(client: Client): Promise<string | undefined> {
  // It has no name, and is not kept.
  const review = await orUnknown(client.of(selfReviews).create({ metadata: {} as ObjectMeta }));
  return review?.status?.userInfo?.username;
}

async function orUnknown<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}
