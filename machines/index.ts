/**
 * All statecharts, listed once. Documents, transition rules and generated tests loop over this list, so a chart that
 * is not in it has none of them.
 */
import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import { attemptMachine, newAttempt } from "./attempt.ts";
import { jobMachine, jobStatus, restoreJob } from "./job.ts";
import { jobMatrixMachine, jobMatrixStatus, restoreJobMatrix } from "./job-matrix.ts";
import { jobWorkflowMachine, jobWorkflowStatus, restoreJobWorkflow } from "./job-workflow.ts";
import {
  persistentWorkspaceMachine,
  persistentWorkspaceStatus,
  restorePersistentWorkspace,
} from "./persistent-workspace.ts";
import { restoreRun, runMachine, runStatus } from "./run.ts";
import { newStep, restoreStep, stepMachine, stepStatus } from "./step.ts";
import { restoreStepAction, stepActionMachine, stepActionStatus } from "./step-action.ts";
import { restoreStepGate, stepGateMachine, stepGateStatus } from "./step-gate.ts";
import { restoreWorkflowAction, workflowActionMachine, workflowActionStatus } from "./workflow-action.ts";
import { restoreWorkflowRun, workflowRunMachine, workflowRunStatus } from "./workflow-run.ts";

/** How the state of a chart is stored. */
export interface Persistence {
  /** Kind whose status holds it. */
  readonly kind: "Run" | "PersistentWorkspace" | "WorkflowRun" | "WorkflowAction";
  /** Where in `status` of that kind; empty when it is the status itself. */
  readonly path: string;
  restore(status: unknown): AnyMachineSnapshot;
  toStatus(snapshot: AnyMachineSnapshot): object;
}

export interface Lifecycle {
  readonly name: string;
  readonly machine: AnyStateMachine;
  /** Before its first event. */
  initial(): AnyMachineSnapshot;
  /** Absent for a chart that lives in the memory of one process only. */
  readonly persistence?: Persistence;
}

export const lifecycles: readonly Lifecycle[] = [
  {
    name: "run",
    machine: runMachine,
    initial: () => restoreRun(undefined),
    persistence: { kind: "Run", path: "", restore: restoreRun, toStatus: runStatus },
  },
  { name: "attempt", machine: attemptMachine, initial: newAttempt },
  {
    name: "persistent-workspace",
    machine: persistentWorkspaceMachine,
    initial: () => restorePersistentWorkspace(undefined),
    persistence: {
      kind: "PersistentWorkspace",
      path: "",
      restore: restorePersistentWorkspace,
      toStatus: persistentWorkspaceStatus,
    },
  },
  {
    name: "workflow-run",
    machine: workflowRunMachine,
    initial: () => restoreWorkflowRun(undefined),
    persistence: { kind: "WorkflowRun", path: "", restore: restoreWorkflowRun, toStatus: workflowRunStatus },
  },
  {
    name: "job",
    machine: jobMachine,
    initial: () => restoreJob(undefined),
    persistence: { kind: "WorkflowRun", path: "jobs.*", restore: restoreJob, toStatus: jobStatus },
  },
  {
    name: "job-matrix",
    machine: jobMatrixMachine,
    initial: () => restoreJobMatrix(undefined),
    persistence: { kind: "WorkflowRun", path: "jobs.*", restore: restoreJobMatrix, toStatus: jobMatrixStatus },
  },
  {
    name: "job-workflow",
    machine: jobWorkflowMachine,
    initial: () => restoreJobWorkflow(undefined),
    persistence: { kind: "WorkflowRun", path: "jobs.*", restore: restoreJobWorkflow, toStatus: jobWorkflowStatus },
  },
  {
    name: "step-action",
    machine: stepActionMachine,
    initial: () => restoreStepAction(newStep("step")),
    persistence: {
      kind: "WorkflowRun",
      path: "jobs.*.steps[]",
      restore: restoreStepAction,
      toStatus: stepActionStatus,
    },
  },
  {
    name: "step",
    machine: stepMachine,
    initial: () => restoreStep(newStep("step")),
    persistence: { kind: "WorkflowRun", path: "jobs.*.steps[]", restore: restoreStep, toStatus: stepStatus },
  },
  {
    name: "step-gate",
    machine: stepGateMachine,
    initial: () => restoreStepGate(newStep("step")),
    persistence: { kind: "WorkflowRun", path: "jobs.*.steps[]", restore: restoreStepGate, toStatus: stepGateStatus },
  },
  {
    name: "workflow-action",
    machine: workflowActionMachine,
    initial: () => restoreWorkflowAction(undefined),
    persistence: {
      kind: "WorkflowAction",
      path: "",
      restore: restoreWorkflowAction,
      toStatus: workflowActionStatus,
    },
  },
];

/** The chart of that name. */
export function lifecycle(name: string): Lifecycle {
  const found = lifecycles.find((each) => each.name === name);
  if (found === undefined)
    throw new RangeError(`no statechart "${name}"; there are ${lifecycles.map((each) => each.name).join(", ")}`);
  return found;
}
