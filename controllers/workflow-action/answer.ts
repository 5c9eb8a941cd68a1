import { type WorkflowAction, workflowActionVerbs } from "#api/kinds/workflow-action.ts";
import type { AppliedAction } from "#api/kinds/workflow-run.ts";
import { workflowActions } from "#api/resources.ts";
import { withStatus } from "#api/status.ts";
import { parseTime } from "#api/time.ts";
import type { ControllerDeps, Informers } from "#controllers/informers.ts";
import { type Said, tell } from "#controllers/trouble.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { step } from "#machines/lib/settle.ts";
import {
  actionFailureReasons,
  restoreWorkflowAction,
  type WorkflowActionEvent,
  workflowActionMachine,
  workflowActionStatus,
} from "#machines/workflow-action.ts";

/** What becomes of an action. */
export type Answer = Omit<AppliedAction, "uid" | "name" | "action">;

/** Answers WorkflowActions: the only writer of their status. */
export interface Answering {
  /** The action as it is now, live; undefined when it is gone, or another one has its name. */
  find(action: Pick<AppliedAction, "uid" | "name">, namespace: string | undefined): Promise<WorkflowAction | undefined>;
  /**
   * Writes the answer to an action that was read live; one that has ended is left alone.
   * @throws StatusError, a conflict among them: read it again
   */
  answer(live: WorkflowAction, answer: Answer): Promise<void>;
}

export function createAnswering({ client, recorder, tally }: ControllerDeps, informers: Informers): Answering {
  const actions = client.of(workflowActions);

  function say(action: WorkflowAction, { outcome, reason, message = "" }: Answer): void {
    const known = workflowActionVerbs.find((verb) => verb === action.spec.action) ?? "Other";
    tally?.count("workflow_actions_total", { action: known, outcome: outcome === "Succeeded" ? outcome : `${reason}` });
    const said: Said =
      outcome === "Succeeded"
        ? { type: "Normal", reason: "WorkflowActionSucceeded", message }
        : { type: "Warning", reason: "WorkflowActionFailed", message: `${reason}: ${message}` };
    tell(recorder, workflowActions, action, said);
  }

  return {
    async find({ uid, name }, namespace) {
      const live = await orNothing(actions.get({ name, namespace }));
      if (live === undefined) {
        informers.workflowActions.noteDelete({ metadata: { name, ...(namespace && { namespace }), uid } });
        return undefined;
      }
      return live.metadata.uid === uid ? live : undefined;
    },
    async answer(live, answer) {
      const { snapshot, changed } = step(workflowActionMachine, restoreWorkflowAction(live.status), eventOf(answer));
      if (!changed) return;
      const written = await orNothing(actions.update(withStatus(live, workflowActionStatus(snapshot)), "status"));
      if (written === undefined) return;
      informers.workflowActions.noteWrite(written, live.metadata.resourceVersion);
      say(live, answer);
    },
  };
}

function eventOf({ at, outcome, reason, message = "" }: Answer): WorkflowActionEvent {
  const now = parseTime(at) ?? 0;
  if (outcome === "Succeeded") return { type: "APPLY", message, now };
  const known = actionFailureReasons.find((each) => each === reason) ?? "UnsupportedAction";
  return { type: "REFUSE", reason: known, message, now };
}
