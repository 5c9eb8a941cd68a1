import type { WorkflowRun } from "../kinds/workflow-run.ts";
import { checkDuration } from "./duration.ts";
import type { Rule } from "./rule.ts";

export const workflowRunDurations: Rule<WorkflowRun> = ({ spec }) => checkDuration("spec.timeout", spec.timeout);
