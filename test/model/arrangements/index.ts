import type { AnyArrangements } from "./arranged.ts";
import { attemptArrangements } from "./attempt.ts";
import { jobArrangements } from "./job.ts";
import { jobMatrixArrangements } from "./job-matrix.ts";
import { jobWorkflowArrangements } from "./job-workflow.ts";
import { persistentWorkspaceArrangements } from "./persistent-workspace.ts";
import { runArrangements } from "./run.ts";
import { stepArrangements } from "./step.ts";
import { stepActionArrangements } from "./step-action.ts";
import { stepGateArrangements } from "./step-gate.ts";
import { workflowActionArrangements } from "./workflow-action.ts";
import { workflowRunArrangements } from "./workflow-run.ts";

const arrangements: Readonly<Record<string, AnyArrangements>> = {
  run: runArrangements,
  attempt: attemptArrangements,
  "persistent-workspace": persistentWorkspaceArrangements,
  "workflow-run": workflowRunArrangements,
  job: jobArrangements,
  "job-matrix": jobMatrixArrangements,
  "job-workflow": jobWorkflowArrangements,
  "step-action": stepActionArrangements,
  step: stepArrangements,
  "step-gate": stepGateArrangements,
  "workflow-action": workflowActionArrangements,
};

/** How the real components are brought to fire the events of a chart; a chart without it fails the run. */
export function arrangementsOf(chart: string): AnyArrangements {
  const found = arrangements[chart];
  if (found === undefined) throw new RangeError(`test/model/arrangements has nothing for the ${chart} chart`);
  return found;
}

/** Names of the charts that have arrangements, to find those that no chart has any more. */
export const arrangedCharts: readonly string[] = Object.keys(arrangements);
