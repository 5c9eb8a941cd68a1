import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import { invalid } from "#api/validation/rule.ts";
import { useOfWorkspace } from "./access-review.ts";
import type { Lookups } from "./lookups.ts";
import { controllingWorkflowRun, missingProof } from "./ownership.ts";
import type { Requester } from "./requester.ts";
import { admitted, type Verdict } from "./verdict.ts";

/** A Run that is to be created in a workspace, and who creates it. */
export interface UseOfWorkspace {
  readonly namespace: string;
  readonly run: Run;
  /** Undefined when the request does not say who asks. */
  readonly requester: Requester | undefined;
}

/**
 * Whether a new Run may refer to its workspace. Only admission knows who asks; scheduler and agents trust this decision.
 *
 * P1  nobody is said to ask                             -> undecided
 * P2  no such workspace                                 -> invalid
 * P3  the workspace belongs to another Runtime          -> invalid
 * P4  the controller, Run and workspace of one live job -> admitted without a review; what the API server remembers is enough
 * P5  the controller, anything else                     -> forbidden without a review, after a look at what is stored
 * P6  everybody else with the right `use`               -> admitted
 * P7  everybody else                                    -> forbidden
 * P8  no answer, or none that can be read               -> undecided
 *
 * The phase of the workspace is no matter of permission: a Run in one that is Pending, Lost or Released is admitted and waits.
 * Neither are later changes of labels and owner references: they are looked at here and never again, and spec.workspace is immutable.
 *
 * @param controller user name of the controller, the one identity that P4 and P5 are about
 */
export async function judgeUse(use: UseOfWorkspace, lookups: Lookups, controller: string): Promise<Verdict> {
  const { requester } = use;
  if (requester === undefined) return undecided("the request does not say who asks");
  try {
    return await decide({ ...use, requester }, lookups, controller);
  } catch (error) {
    // Whatever went wrong: a permission that was not given is none.
    return undecided(error instanceof Error ? error.message : String(error));
  }
}

async function decide(
  use: UseOfWorkspace & { readonly requester: Requester },
  lookups: Lookups,
  controller: string,
): Promise<Verdict> {
  const { namespace, run, requester } = use;
  if (requester.username === controller) return judgeController(use, lookups);
  const name = nameOf(run);
  const workspace = await lookups.workspace(namespace, name);
  if (workspace === undefined) return absent(namespace, name);
  const unfit = misfit(workspace, run);
  if (unfit !== undefined) return unfit;
  const access = await lookups.mayUse(requester, namespace, name);
  return access.allowed ? admitted : refused(requester, namespace, name, access.why);
}

/**
 * The controller creates most of all Runs, each right after the workspace of its job. The memory of the API server mostly has both, at
 * half the time of its storage, and is no older than the roles that it decides the reviews of all others by. A Run of a WorkflowRun
 * that has gone a moment ago goes with it. Only a yes comes from there: what does not fit is looked at as it is stored.
 */
async function judgeController(
  use: UseOfWorkspace & { readonly requester: Requester },
  lookups: Lookups,
): Promise<Verdict> {
  const recent = await judgeProof(use, lookups.recentWorkspace, lookups.recentWorkflowRun);
  return recent.kind === "admitted" ? recent : judgeProof(use, lookups.workspace, lookups.workflowRun);
}

async function judgeProof(
  { namespace, run, requester }: UseOfWorkspace & { readonly requester: Requester },
  workspaceOf: Lookups["workspace"],
  workflowRunOf: Lookups["recentWorkflowRun"],
): Promise<Verdict> {
  const name = nameOf(run);
  const owner = controllingWorkflowRun(run)?.name;
  const [workspace, workflowRun] = await Promise.all([
    workspaceOf(namespace, name),
    owner === undefined ? undefined : workflowRunOf(namespace, owner),
  ]);
  if (workspace === undefined) return absent(namespace, name);
  const unfit = misfit(workspace, run);
  if (unfit !== undefined) return unfit;
  const missing = missingProof(run, workspace, workflowRun);
  return missing === undefined ? admitted : refused(requester, namespace, name, missing);
}

const nameOf = ({ spec }: Run): string => spec.workspace?.name ?? "";

const absent = (namespace: string, name: string): Verdict =>
  wrong(`there is no PersistentWorkspace ${name} in namespace ${namespace}`, "Create it before the Run.");

/** A Run cannot be in the workspace of another Runtime, whoever creates it. */
function misfit({ metadata, spec }: PersistentWorkspace, run: Run): Verdict | undefined {
  if (spec.runtime === run.spec.runtime) return undefined;
  const message = `workspace ${metadata.name} belongs to Runtime ${spec.runtime}, the Run asks for ${run.spec.runtime}`;
  return wrong(message, "Use the Runtime of the workspace, or another workspace.");
}

function refused({ username }: Requester, namespace: string, name: string, why: string): Verdict {
  const { verb, resource, subresource } = useOfWorkspace;
  const right = `the verb "${verb}" on ${resource}/${subresource}`;
  const message = `user "${username}" may not use PersistentWorkspace ${name} in namespace ${namespace}; it takes ${right}`;
  return { kind: "forbidden", message: why === "" ? message : `${message}: ${why}` };
}

const undecided = (why: string): Verdict => ({
  kind: "undecided",
  message: `it could not be found out whether the workspace may be used: ${why}`,
});

const wrong = (message: string, advice: string): Verdict => ({
  kind: "invalid",
  errors: [invalid("spec.workspace.name", message, advice)],
});
