import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import type { AppliedAction, WorkflowRun, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { workflowActions, workflowRuns } from "#api/resources.ts";
import { parseTime } from "#api/time.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { equalJson } from "#kube/json.ts";
import type { Change } from "#local/apiserver/index.ts";
import { resourceOf, type World } from "../world.ts";
import type { Report, Rule } from "./rule.ts";

/** Verbs that succeed without effect where they had it before. */
const repeatable = ["Suspend", "Stop", "Terminate"];

/** Clocks of the processes differ by no more. */
const skewMs = 3000;

/**
 * Each action has one effect and one answer. Every change of a run that only an action can ask for stands in one write with the
 * record of an action that asked for it; a record comes once for ever; and an action is told what its record says.
 */
export function actionRules(world: World, report: Report): Rule {
  /** Every record that ever stood in a status, and all actions, by UID of the action. */
  const records = new Map<string, AppliedAction>();
  const asked = new Map<string, WorkflowAction>();

  function checkRun(flow: WorkflowRun, old: WorkflowRun | undefined): void {
    const { status, metadata } = flow;
    if (status === undefined) return;
    const subject = `WorkflowRun ${metadata.name}`;
    const known = new Set(old?.status?.appliedActions?.map(({ uid }) => uid));
    const fresh = (status.appliedActions ?? []).filter(({ uid }) => !known.has(uid));
    for (const record of fresh) checkRecord(subject, flow, record);
    const ages = fresh.map(({ uid, name }) => `${asked.get(uid)?.metadata.creationTimestamp} ${name}`);
    if (!equalJson(ages, [...ages].sort())) report("actions are applied by age", subject, ages.join());
    const applied = fresh.filter(({ outcome }) => outcome === "Succeeded").map(({ action }) => action);
    for (const { what, by } of effects(flow, old?.status)) {
      if (!by.some((verb) => applied.includes(verb)))
        report("what only an action can do was done by one", subject, `${what}, with ${applied.join() || "none"}`);
    }
    checkOutcome(subject, fresh, status);
  }

  function checkRecord(subject: string, { metadata }: WorkflowRun, record: AppliedAction): void {
    const { uid, name } = record;
    const action = asked.get(uid);
    const says = `${name} ${record.action} ${record.outcome} ${record.reason ?? ""}`;
    if (records.has(uid)) report("an action is applied once", subject, says);
    records.set(uid, record);
    const phase = action?.status?.phase ?? "Pending";
    if (phase !== "Pending") report("what is answered is not applied any more", subject, `${says}, and it is ${phase}`);
    const { workflowRef, action: verb } = action?.spec ?? {};
    const isMeant = workflowRef?.name === metadata.name && (workflowRef.uid ?? metadata.uid) === metadata.uid;
    if (!isMeant || verb !== record.action) report("an action is applied to its target", subject, says);
  }

  /** The run is as the last of the actions has left it. */
  function checkOutcome(subject: string, fresh: readonly AppliedAction[], status: WorkflowRunStatus): void {
    const done = fresh.filter(({ outcome }) => outcome === "Succeeded");
    const isSelective = ({ uid }: AppliedAction) => {
      const { resume, stop } = asked.get(uid)?.spec ?? {};
      return (resume ?? stop)?.nodeFieldSelector !== undefined;
    };
    const last = done.findLast((each) => ["Suspend", "Resume"].includes(each.action) && !isSelective(each));
    if (last !== undefined && (last.action === "Suspend") !== (status.suspended ?? false))
      report("an action that succeeded has its effect", subject, `${last.name} ${last.action}: ${status.suspended}`);
    for (const each of done) {
      const { shutdown } = status;
      if (
        each.action === "Terminate" ? shutdown === "Terminate" : each.action !== "Stop" || isSelective(each) || shutdown
      )
        continue;
      if (["Stop", "Terminate"].includes(each.action))
        report("an action that succeeded has its effect", subject, `${each.name} ${each.action}: ${shutdown}`);
    }
  }

  function checkAction(action: WorkflowAction, old: WorkflowAction | undefined): void {
    const { metadata, spec, status } = action;
    asked.set(metadata.uid ?? "", action);
    const before = old?.status?.phase ?? "Pending";
    if (before !== "Pending" && !equalJson(old?.status, status))
      report("an answer stays", `WorkflowAction ${metadata.name}`, JSON.stringify([old?.status, status]));
    if (status === undefined || status.phase === "Pending" || before !== "Pending") return;
    const { phase, reason = "" } = status;
    const subject = `WorkflowAction ${metadata.name} (${spec.action})`;
    const record = records.get(metadata.uid ?? "");
    const flow = world.object(workflowRuns, spec.workflowRef.name);
    const isTarget = flow !== undefined && (spec.workflowRef.uid ?? flow.metadata.uid) === flow.metadata.uid;
    // With its target the record of it is gone.
    if (reason === "WorkflowNotFound" && !isTarget) return;
    if (record !== undefined) {
      const told = phase === record.outcome && (phase === "Succeeded" || reason === record.reason);
      if (!told) report("an action is told what its record says", subject, `${phase} ${reason}, not ${record.outcome}`);
      return;
    }
    if (phase === "Succeeded" && !repeatable.includes(spec.action))
      report("what changes a run is recorded", subject, `${phase} ${reason}`);
    if (!isTarget) return;
    const { creationTimestamp, deletionTimestamp } = flow.metadata;
    const age = world.clock.now() - (parseTime(creationTimestamp) ?? 0);
    // It was not there yet when it was looked for.
    const isNew = age < 60_000 + skewMs;
    if (reason === "WorkflowNotFound" && deletionTimestamp === undefined && !isNew)
      report("a target that exists is found", subject, flow.metadata.name);
    if (reason === "WorkflowCompleted" && !hasEnded(flow.status?.phase) && (flow.status?.attempt ?? 1) === 1)
      report("what has not ended is not called completed", subject, `${flow.status?.phase}`);
  }

  return {
    change({ type, resource, object, previous }: Change) {
      if (type === "DELETED") return;
      if (resource === resourceOf(workflowActions)) {
        checkAction(object as unknown as WorkflowAction, previous as unknown as WorkflowAction | undefined);
      }
      if (resource === resourceOf(workflowRuns)) {
        checkRun(object as unknown as WorkflowRun, previous as unknown as WorkflowRun | undefined);
      }
    },
  };
}

interface Effect {
  readonly what: string;
  /** Any of these verbs explains it. */
  readonly by: readonly string[];
}

/** What happened in a write that nobody but people can ask for. */
function effects({ status, metadata }: WorkflowRun, old: WorkflowRunStatus | undefined): Effect[] {
  if (status === undefined) return [];
  const found: Effect[] = [];
  const isAgain = (status.attempt ?? 1) > (old?.attempt ?? 1);
  if (isAgain) return [{ what: `attempt ${status.attempt}`, by: ["Retry"] }];
  const specSays = status.observedSpecSuspend !== old?.observedSpecSuspend;
  if (status.suspended && !old?.suspended && !specSays) found.push({ what: "suspended", by: ["Suspend"] });
  if (!status.suspended && old?.suspended && !specSays) found.push({ what: "resumed", by: ["Resume"] });
  const { shutdown } = status;
  // A run that is a job of another one ends with that.
  const mayEndByItself = metadata.ownerReferences !== undefined;
  if (
    shutdown !== undefined &&
    !mayEndByItself &&
    shutdown !== old?.shutdown &&
    status.observedSpecShutdown !== shutdown
  )
    found.push({ what: `shutdown ${shutdown}`, by: [shutdown] });
  for (const [id, job] of Object.entries(status.jobs ?? {})) {
    for (const { name, phase, reason, gate } of job.steps ?? []) {
      const before = old?.jobs?.[id]?.steps?.find((step) => step.name === name);
      if (before?.phase !== "Suspended" || phase === "Suspended") continue;
      const what = `gate ${id}/${name} ${phase}`;
      if (phase === "Succeeded" && gate?.deadline === undefined) found.push({ what, by: ["Resume"] });
      if (phase === "Failed" && reason === "GateStopped") found.push({ what, by: ["Stop"] });
    }
  }
  return found;
}
