import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import type { JobStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { equalJson } from "#kube/json.ts";
import type { Change } from "#local/apiserver/index.ts";
import { lifecycle } from "#machines/index.ts";
import { describe } from "#machines/lib/describe.ts";
import { type TransitionTable, transitionTable } from "#machines/lib/transition-rules.ts";
import { callName, gateName } from "../people/workflows.ts";
import type { Report, Rule } from "./rule.ts";

interface Chart {
  readonly table: TransitionTable;
  readonly terminal: ReadonlySet<string>;
}

function chart(name: string): Chart {
  const model = describe(lifecycle(name).machine);
  const terminal = model.states.filter(({ tags }) => tags.includes("terminal"));
  return { table: transitionTable(model), terminal: new Set(terminal.map((state) => state.name)) };
}

const charts = {
  run: chart("run"),
  workspace: chart("persistent-workspace"),
  workflowRun: chart("workflow-run"),
  job: chart("job"),
  call: chart("job-workflow"),
  step: chart("step"),
  gate: chart("step-gate"),
  action: chart("workflow-action"),
};

/** A status that has ended says nothing about time, numbers or waiting any more: it never changes. */
const finalKinds = ["run", "workflowRun", "job", "call", "step", "gate", "action"];

interface Status {
  readonly phase: string;
  readonly attempt?: number;
}

/** What stands in a status until it was told elsewhere, also after its end. */
const untold = ({ appliedActions: _, ...status }: Status & { appliedActions?: unknown }): Status => status;

/** Another attempt of what had ended: it begins anew. */
const isAgain = (old: Status | undefined, next: Status): boolean =>
  old !== undefined && (next.attempt ?? 0) > (old.attempt ?? 0);

/**
 * Phases move along the charts, also those of jobs and steps, which the API server does not check. What has ended does
 * not change; attempts and assignment epochs never fall.
 */
export function phaseRules(report: Report): Rule {
  function check(name: keyof typeof charts, subject: string, old: Status | undefined, next: Status): void {
    const { table, terminal } = charts[name];
    const from = old?.phase ?? table.initial;
    const allowed = [...(table.moves[from] ?? []), ...(table.reopens[from] ?? [])];
    if (!allowed.includes(next.phase)) report("phases move along the charts", subject, `${from} to ${next.phase}`);
    if ((next.attempt ?? 0) < (old?.attempt ?? 0))
      report("the attempt never falls", subject, `${old?.attempt} to ${next.attempt}`);
    const isReopened = (table.reopens[from] ?? []).includes(next.phase);
    if (old !== undefined && terminal.has(from) && finalKinds.includes(name) && !isReopened && !equalJson(old, next)) {
      report("what has ended does not change", subject, `${JSON.stringify(old)} to ${JSON.stringify(next)}`);
    }
  }

  function checkRun({ metadata, status }: Run, old: Run | undefined): void {
    if (status === undefined) return;
    const subject = `Run ${metadata.name}`;
    check("run", subject, old?.status, status);
    const { assignmentEpoch = 0, attempt = 0 } = status;
    const before = { epoch: old?.status?.assignmentEpoch ?? 0, attempt: old?.status?.attempt ?? 0 };
    if (assignmentEpoch < before.epoch || assignmentEpoch > before.epoch + 1) {
      report("the assignment epoch rises by one", subject, `${before.epoch} to ${assignmentEpoch}`);
    }
    if (attempt > before.attempt + 1) report("the attempt rises by one", subject, `${before.attempt} to ${attempt}`);
    if (charts.run.terminal.has(status.phase) !== (status.completionTime !== undefined)) {
      report("what has ended says when", subject, `${status.phase} ${status.completionTime}`);
    }
  }

  function checkWorkspace({ metadata, status }: PersistentWorkspace, old: PersistentWorkspace | undefined): void {
    if (status === undefined) return;
    const subject = `PersistentWorkspace ${metadata.name}`;
    check("workspace", subject, old?.status, status);
    const bound = old?.status?.boundPodUID;
    if (bound !== undefined && status.boundPodUID !== bound) {
      report("a workspace is bound once", subject, `${bound} to ${status.boundPodUID}`);
    }
  }

  function checkWorkflowRun({ metadata, status }: WorkflowRun, old: WorkflowRun | undefined): void {
    if (status === undefined) return;
    check("workflowRun", `WorkflowRun ${metadata.name}`, old?.status && untold(old.status), untold(status));
    const before = old?.status?.jobs ?? {};
    const isRetry = isAgain(old?.status, status) && charts.workflowRun.terminal.has(old?.status?.phase ?? "");
    for (const [id, job] of Object.entries(status.jobs ?? {})) {
      // A Retry opens jobs again; one that never began has no attempt that could rise.
      const isFresh = isRetry && !charts.job.terminal.has(job.phase);
      checkJob(
        `WorkflowRun ${metadata.name} job ${id}`,
        id === callName ? "call" : "job",
        isFresh ? undefined : before[id],
        job,
      );
    }
    for (const id of Object.keys(before)) {
      if (status.jobs?.[id] === undefined) report("no job is forgotten", `WorkflowRun ${metadata.name}`, id);
    }
  }

  function checkJob(subject: string, kind: "job" | "call", old: JobStatus | undefined, job: JobStatus): void {
    check(kind, subject, old, job);
    for (const step of job.steps ?? []) {
      const before = old?.steps?.find(({ name }) => name === step.name);
      check(step.name === gateName ? "gate" : "step", `${subject} step ${step.name}`, before, step);
    }
  }

  return {
    change({ type, resource, object, previous }: Change) {
      if (type === "DELETED") return;
      if (resource === "runs.kruntimes.io") checkRun(object as unknown as Run, previous as Run | undefined);
      if (resource === "persistentworkspaces.kruntimes.io") {
        checkWorkspace(object as unknown as PersistentWorkspace, previous as PersistentWorkspace | undefined);
      }
      if (resource === "workflowactions.kruntimes.io") {
        const { metadata, status } = object as unknown as WorkflowAction;
        const before = previous as WorkflowAction | undefined;
        if (status !== undefined) check("action", `WorkflowAction ${metadata.name}`, before?.status, status);
      }
      if (resource === "workflowruns.kruntimes.io") {
        checkWorkflowRun(object as unknown as WorkflowRun, previous as WorkflowRun | undefined);
      }
    },
  };
}
