import { formatDuration } from "#api/duration.ts";
import type { JobStatus, StepStatus } from "#api/kinds/workflow-run.ts";
import { parseTime } from "#api/time.ts";
import { isActive, mustStartAnother, noStepEnded, sumOfSteps } from "#machines/derive.ts";
import type { StepActionEvent } from "#machines/step-action.ts";
import { evaluateOutputs, knownOutputs } from "#workflows/outputs.ts";
import type { ActionWork, StepPlan } from "#workflows/plan.ts";
import { type Budget, noRoom } from "./budget.ts";
import type { Course } from "./cleanup.ts";
import { holds } from "./conditions.ts";
import { type JobContext, whyGone, workspaceOf } from "./job-context.ts";
import { outerValues, ownValues, type StepPlace } from "./step-place.ts";

/** A step that uses an Action, and what its decisions look at. */
export interface ActionContext {
  readonly context: JobContext;
  readonly job: JobStatus;
  /** Where the step stands, and where the steps of the Action do. */
  readonly place: StepPlace;
  readonly inner: StepPlace;
  readonly plan: StepPlan;
  readonly work: ActionWork;
  /** Whether the step is to end. */
  readonly isEnding: boolean;
  /** What becomes of the steps of the Action. */
  readonly course: Course;
  readonly budget: Budget;
}

/** What is due for a step whose Action is at work, and whose own steps are as `step` says. */
export function observeAction(input: ActionContext, step: StepStatus): StepActionEvent | undefined {
  const { context, plan, work, inner, isEnding, budget } = input;
  const { now } = context;
  const steps = step.steps ?? [];
  const continued = () => (passesOver(input) ? { continued: true } : {});
  if (step.phase === "Stopping") {
    const cleansUp = input.course === "cleans up" && steps.some(({ phase }) => phase === "Waiting");
    if (cleansUp || steps.some(isActive)) return undefined;
    return { type: "STEPS_ENDED", ...leftOutputs(input), ...continued(), now };
  }
  switch (sumOfSteps(steps)) {
    case "Failed":
      return { type: "STEP_FAILED", ...leftOutputs(input), ...continued(), now };
    case "Succeeded": {
      const values = outerValues(inner);
      const result = values.ok
        ? evaluateOutputs(work.plan.outputs, values.values)
        : { ...values, reason: "ExpressionFailed" as const };
      if (result.ok && budget.takeOutputs(result.outputs)) {
        return { type: "STEPS_SUCCEEDED", outputs: result.outputs, now };
      }
      const { reason, message } = result.ok ? noRoom : result;
      return { type: "OUTPUTS_FAILED", reason, message, ...continued(), now };
    }
    default:
      break;
  }
  if (isEnding) return { type: "CANCEL" };
  const deadline = actionDeadline(plan, step);
  if (deadline !== undefined && now >= deadline) {
    const message = `the step took longer than ${formatDuration(plan.timeoutMs ?? 0)}`;
    return { type: "TIME_OUT", message, ...(steps.some(isActive) ? {} : leftOutputs(input)), ...continued(), now };
  }
  // Files that nobody has used are the job's business: it takes a new workspace.
  const isMissed = mustStartAnother(steps) && !noStepEnded(input.job.steps ?? []);
  const gone = isMissed ? whyGone(workspaceOf(context, input.job)) : undefined;
  return gone === undefined ? undefined : { type: "WORKSPACE_LOST", message: gone, ...leftOutputs(input), now };
}

/** The outputs of an Action that ends without success, as far as they have a value and there is room for them. */
function leftOutputs({ inner, work, budget }: ActionContext): { outputs?: Record<string, string> } {
  const values = outerValues(inner);
  const outputs = values.ok ? knownOutputs(work.plan.outputs, values.values) : {};
  return Object.keys(outputs).length > 0 && budget.takeOutputs(outputs) ? { outputs } : {};
}

/** When a step that uses an Action is out of time; undefined without a limit, and when it is not at work. */
export function actionDeadline(plan: StepPlan, step: StepStatus): number | undefined {
  const start = parseTime(step.startTime);
  if (plan.work.kind !== "action" || step.phase !== "Running") return undefined;
  return plan.timeoutMs === undefined || start === undefined ? undefined : start + plan.timeoutMs;
}

/** Whether its failure is none for the job. */
const passesOver = ({ place, plan }: ActionContext): boolean =>
  holds(plan.continueOnError, () => ownValues(place, plan));
