import type { TSchema } from "@sinclair/typebox";
import { PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import { RunStatus } from "#api/kinds/run.ts";
import { WorkflowActionStatus } from "#api/kinds/workflow-action.ts";
import { JobStatus, StepStatus, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { type Lifecycle, lifecycles } from "#machines/index.ts";
import { attemptOracle } from "./oracles/attempt.ts";
import type { Oracle } from "./oracles/oracle.ts";
import { persistentWorkspaceOracle } from "./oracles/persistent-workspace.ts";
import { runOracle } from "./oracles/run.ts";
import { stepGateOracle } from "./oracles/step-gate.ts";
import { jobOracle, stepOracle, workflowRunOracle } from "./oracles/workflow.ts";
import { workflowActionOracle } from "./oracles/workflow-action.ts";
import { jobMatrixOracle, jobWorkflowOracle, stepActionOracle } from "./oracles/workflow-groups.ts";
import { attemptWalk } from "./samples/attempt.ts";
import { jobWalk } from "./samples/job.ts";
import { jobMatrixWalk } from "./samples/job-matrix.ts";
import { jobWorkflowWalk } from "./samples/job-workflow.ts";
import { persistentWorkspaceWalk } from "./samples/persistent-workspace.ts";
import { runWalk } from "./samples/run.ts";
import type { Walk } from "./samples/samples.ts";
import { stepWalk } from "./samples/step.ts";
import { stepActionWalk } from "./samples/step-action.ts";
import { stepGateWalk } from "./samples/step-gate.ts";
import { workflowActionWalk } from "./samples/workflow-action.ts";
import { workflowRunWalk } from "./samples/workflow-run.ts";

/**
 * Counts below which a walk is not what it was when it was committed. Raise them with a chart; lower them only when a
 * chart really lost something.
 */
export interface Minimums {
  readonly states: number;
  readonly transitions: number;
  /** Guards that refused an event for which no other branch stood ready. */
  readonly refusals: number;
  readonly coveringPaths: number;
  readonly simplePaths: number;
  /** Of the replay by the real components: paths that can be arranged, and refusals that they bring about. */
  readonly arrangedPaths: number;
  readonly arrangedRefusals: number;
}

export interface Model {
  readonly walk: Walk;
  readonly oracle: Oracle;
  /** What the API server would hold the status against. */
  readonly schema?: TSchema;
  readonly minimums: Minimums;
}

const models: Readonly<Record<string, Model>> = {
  run: {
    walk: runWalk,
    oracle: runOracle,
    schema: RunStatus,
    minimums: {
      states: 7,
      transitions: 17,
      refusals: 3,
      coveringPaths: 2700,
      simplePaths: 26,
      arrangedPaths: 101,
      arrangedRefusals: 0,
    },
  },
  attempt: {
    walk: attemptWalk,
    oracle: attemptOracle,
    minimums: {
      states: 12,
      transitions: 48,
      refusals: 1,
      coveringPaths: 780,
      simplePaths: 261,
      arrangedPaths: 229,
      arrangedRefusals: 1,
    },
  },
  "persistent-workspace": {
    walk: persistentWorkspaceWalk,
    oracle: persistentWorkspaceOracle,
    schema: PersistentWorkspaceStatus,
    minimums: {
      states: 4,
      transitions: 17,
      refusals: 8,
      coveringPaths: 1390,
      simplePaths: 10,
      arrangedPaths: 104,
      arrangedRefusals: 0,
    },
  },
  "workflow-run": {
    walk: workflowRunWalk,
    oracle: workflowRunOracle,
    schema: WorkflowRunStatus,
    minimums: {
      states: 6,
      transitions: 60,
      refusals: 31,
      coveringPaths: 3400,
      simplePaths: 6,
      arrangedPaths: 35,
      arrangedRefusals: 0,
    },
  },
  job: {
    walk: jobWalk,
    oracle: jobOracle,
    schema: JobStatus,
    minimums: {
      states: 9,
      transitions: 36,
      refusals: 13,
      coveringPaths: 9900,
      simplePaths: 11,
      arrangedPaths: 63,
      arrangedRefusals: 0,
    },
  },
  step: {
    walk: stepWalk,
    oracle: stepOracle,
    schema: StepStatus,
    minimums: {
      states: 7,
      transitions: 21,
      refusals: 1,
      coveringPaths: 980,
      simplePaths: 14,
      arrangedPaths: 122,
      arrangedRefusals: 1,
    },
  },
  "job-matrix": {
    walk: jobMatrixWalk,
    oracle: jobMatrixOracle,
    schema: JobStatus,
    minimums: {
      states: 6,
      transitions: 6,
      refusals: 0,
      coveringPaths: 40,
      simplePaths: 5,
      arrangedPaths: 6,
      arrangedRefusals: 0,
    },
  },
  "job-workflow": {
    walk: jobWorkflowWalk,
    oracle: jobWorkflowOracle,
    schema: JobStatus,
    minimums: {
      states: 8,
      transitions: 18,
      refusals: 1,
      coveringPaths: 100,
      simplePaths: 5,
      arrangedPaths: 15,
      arrangedRefusals: 0,
    },
  },
  "step-action": {
    walk: stepActionWalk,
    oracle: stepActionOracle,
    schema: StepStatus,
    minimums: {
      states: 7,
      transitions: 14,
      refusals: 7,
      coveringPaths: 100,
      simplePaths: 5,
      arrangedPaths: 12,
      arrangedRefusals: 0,
    },
  },
  "step-gate": {
    walk: stepGateWalk,
    oracle: stepGateOracle,
    schema: StepStatus,
    minimums: {
      states: 6,
      transitions: 6,
      refusals: 0,
      coveringPaths: 100,
      simplePaths: 6,
      arrangedPaths: 7,
      arrangedRefusals: 0,
    },
  },
  "workflow-action": {
    walk: workflowActionWalk,
    oracle: workflowActionOracle,
    schema: WorkflowActionStatus,
    minimums: {
      states: 3,
      transitions: 2,
      refusals: 0,
      coveringPaths: 10,
      simplePaths: 2,
      arrangedPaths: 6,
      arrangedRefusals: 0,
    },
  },
};

/** Every chart with its model; a chart without one fails the run. */
export const modelled: readonly (Lifecycle & Model)[] = lifecycles.map((each) => {
  const model = models[each.name];
  if (model === undefined) throw new RangeError(`test/model has no model of the ${each.name} chart`);
  return { ...each, ...model };
});
