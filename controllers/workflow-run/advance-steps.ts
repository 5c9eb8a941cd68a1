import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { JobStatus, StepStatus } from "#api/kinds/workflow-run.ts";
import { clip } from "#api/text.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { isBad } from "#machines/derive.ts";
import { settle } from "#machines/lib/settle.ts";
import { restoreStep, type StepEffect, stepMachine, stepStatus } from "#machines/step.ts";
import { restoreStepAction, type StepActionEvent, stepActionMachine, stepActionStatus } from "#machines/step-action.ts";
import { restoreStepGate, stepGateMachine, stepGateStatus } from "#machines/step-gate.ts";
import { type CannotStartReason, type SkipReason, skipReasons } from "#machines/step-status.ts";
import type { ActionWork, GateWork, StepPlan } from "#workflows/plan.ts";
import { type Budget, shortMessage } from "./budget.ts";
import { type Course, courseOf, progressOfEnding } from "./cleanup.ts";
import { asks, notMet, progressOfSteps } from "./conditions.ts";
import type { JobContext } from "./job-context.ts";
import { observeAction } from "./observe-action.ts";
import { observeGate, observeGateTurn } from "./observe-gate.ts";
import { observeRun, observeTurn, type StepContext } from "./observe-step.ts";
import { actionPlace, jobPlace, outerValues, type StepPlace } from "./step-place.ts";

/** An effect of a step; `parent` is the step that uses the Action whose step it is. */
export type PlacedEffect = StepEffect & { readonly parent?: string };

export interface AdvancedSteps {
  /** Undefined when no step has moved. */
  readonly steps: StepStatus[] | undefined;
  /** Of the child Runs that succeeded in this pass, in the order of the steps. */
  readonly artifacts: readonly ArtifactRef[];
  readonly effects: readonly PlacedEffect[];
}

/** A chain of steps, and what its decisions look at. */
interface Chain {
  readonly context: JobContext;
  readonly job: JobStatus;
  /** The steps as the API server has them. */
  readonly stored: readonly StepStatus[] | undefined;
  readonly course: Course;
  readonly budget: Budget;
}

/**
 * The steps of a job after this pass. Only the step at work and those whose turn comes can move; the others are not even restored.
 *
 * @param stored the job as the API server has it
 */
export function advanceSteps(
  context: JobContext,
  job: JobStatus,
  stored: JobStatus | undefined,
  budget: Budget,
): AdvancedSteps {
  const chain: Chain = { context, job, stored: stored?.steps, course: courseOf(context, job), budget };
  return advanceChain(chain, jobPlace(context, job));
}

function advanceChain(chain: Chain, begin: StepPlace): AdvancedSteps {
  const effects: PlacedEffect[] = [];
  const artifacts: ArtifactRef[] = [];
  let place = begin;
  for (const [index, plan] of begin.plans.entries()) {
    const old = place.steps[index];
    if (old === undefined || hasEnded(old.phase)) continue;
    const next = advanceStep(chain, place, plan, old);
    effects.push(...next.effects);
    artifacts.push(...next.artifacts);
    if (next.status !== old) place = movedOn(chain, place, place.steps.with(index, next.status));
    if (!hasEnded(next.status.phase)) break; // the steps after it have not had their turn
  }
  return { steps: place.steps === begin.steps ? undefined : [...place.steps], artifacts, effects };
}

/** The place with other steps; what was computed of the ones before is forgotten. */
function movedOn({ context, job }: Chain, place: StepPlace, steps: readonly StepStatus[]): StepPlace {
  return place.parent === undefined ? jobPlace(context, { ...job, steps: [...steps] }) : { ...place, steps };
}

interface AdvancedStep {
  readonly status: StepStatus;
  readonly effects: readonly PlacedEffect[];
  readonly artifacts: readonly ArtifactRef[];
}

function advanceStep(chain: Chain, place: StepPlace, plan: StepPlan, old: StepStatus): AdvancedStep {
  switch (plan.work.kind) {
    case "action":
      return advanceAction(chain, place, plan, plan.work, old);
    case "gate":
      return advanceGate(chain, place, plan, plan.work, old);
    default:
      return advanceRun(chain, place, plan, old);
  }
}

function advanceGate(chain: Chain, place: StepPlace, plan: StepPlan, work: GateWork, old: StepStatus): AdvancedStep {
  const { context, course } = chain;
  const settled = settle({
    machine: stepGateMachine,
    snapshot: restoreStepGate(old),
    observe: (snapshot) => {
      const step = stepGateStatus(snapshot);
      if (step.phase === "Waiting") {
        return hasTurn(chain)
          ? (refusal(chain, place, plan) ?? observeGateTurn(place, plan, work, context.now))
          : undefined;
      }
      if (step.phase !== "Suspended") return undefined;
      return observeGate(`${context.job.id}/${plan.name}`, step, work, course !== "goes on", context.now);
    },
  });
  return { status: settled.changed ? stepGateStatus(settled.snapshot) : old, effects: [], artifacts: [] };
}

function advanceRun(chain: Chain, place: StepPlace, plan: StepPlan, old: StepStatus): AdvancedStep {
  const { context, budget, stored } = chain;
  // The job with these steps: those of an Action are inside one of its own.
  const job = jobWith(chain, place);
  const input: StepContext = {
    context,
    job,
    place,
    plan,
    stored: stored?.find(({ name }) => name === plan.name),
    isEnding: stepCourse(chain, place, plan) !== "goes on",
    budget,
  };
  const settled = settle({
    machine: stepMachine,
    snapshot: restoreStep(old),
    observe: (snapshot) => {
      const step = stepStatus(snapshot);
      switch (step.phase) {
        case "Waiting":
          return hasTurn(chain) ? (refusal(chain, place, plan) ?? observeTurn(input, step)) : undefined;
        case "Running":
        case "Stopping":
          return observeRun(input, step);
        default:
          return undefined;
      }
    },
  });
  const status = settled.changed ? stepStatus(settled.snapshot) : old;
  const artifacts = status.phase === "Succeeded" ? artifactsOf(context, status) : [];
  const parent = place.parent?.name;
  const effects = settled.effects.map((effect) => (parent === undefined ? effect : { ...effect, parent }));
  return { status, artifacts, effects };
}

function advanceAction(
  chain: Chain,
  place: StepPlace,
  plan: StepPlan,
  work: ActionWork,
  old: StepStatus,
): AdvancedStep {
  const effects: PlacedEffect[] = [];
  const artifacts: ArtifactRef[] = [];
  const stored = chain.stored?.find(({ name }) => name === plan.name)?.steps;
  const settled = settle({
    machine: stepActionMachine,
    snapshot: restoreStepAction(old),
    observe: (snapshot): StepActionEvent | undefined => {
      const step = stepActionStatus(snapshot);
      if (step.phase === "Waiting") {
        if (!hasTurn(chain)) return undefined;
        const { now } = chain.context;
        return refusal(chain, place, plan) ?? { type: "START", steps: work.plan.steps.map(({ name }) => name), now };
      }
      if (hasEnded(step.phase)) return undefined;
      const inner = actionPlace(place, plan, work, step);
      const own = stepCourse(chain, place, plan);
      const job = jobWith(chain, place, step);
      const next = advanceChain({ ...chain, job, stored, course: innerCourse(own, step) }, inner);
      effects.push(...next.effects);
      artifacts.push(...next.artifacts);
      if (next.steps !== undefined) return { type: "STEPS", steps: next.steps };
      const isEnding = own !== "goes on";
      return observeAction(
        {
          ...{ context: chain.context, budget: chain.budget, job, place, inner, plan, work, isEnding },
          course: innerCourse(own, step),
        },
        step,
      );
    },
  });
  return { status: settled.changed ? stepActionStatus(settled.snapshot) : old, effects, artifacts };
}

/** The job, with a step of it as this pass has left it. */
function jobWith({ job }: Chain, place: StepPlace, step?: StepStatus): JobStatus {
  if (place.parent !== undefined) return job;
  const steps = place.steps.map((each) => (each.name === step?.name ? step : each));
  return { ...job, steps };
}

/** Nothing begins in a job that waits for a place or a gate, and in a run that is suspended. */
const hasTurn = ({ context, job, course }: Chain): boolean =>
  (job.phase === "Running" || job.phase === "Stopping") && course !== "ends" && !context.isSuspended;

/** What becomes of one step of a chain: of a job that must end, those go on that clean up. */
function stepCourse({ job, course }: Chain, place: StepPlace, plan: StepPlan): Course {
  if (course !== "cleans up" || plan.if?.asksStatus !== true) return course;
  const asked = asks(plan.if, () => outerValues(place), progressOfEnding(job));
  return asked.ok && asked.holds ? "goes on" : course;
}

/** What becomes of the steps of an Action. One that ran out of its own time ends as a whole. */
function innerCourse(own: Course, { phase, reason }: StepStatus): Course {
  return phase === "Stopping" && (own === "goes on" || reason === "Timeout") ? "ends" : own;
}

type Refusal =
  | { type: "SKIP"; reason: SkipReason; message: string; now: number }
  | { type: "CANNOT_START"; reason: CannotStartReason; message: string; now: number };

/** Why a step does not run although it is its turn: its `if`, or that of the missing one, a bad step before it. */
function refusal({ context, job, course }: Chain, place: StepPlace, plan: StepPlan): Refusal | undefined {
  const { now } = context;
  const isEnding = course === "cleans up";
  // Nobody is asked for leave in a job that must end.
  if (isEnding && (plan.if?.asksStatus !== true || plan.work.kind === "gate")) {
    const reason = skipReasons.find((each) => each === job.reason) ?? "StepFailed";
    return { type: "SKIP", reason, message: clip(job.message ?? "", shortMessage), now };
  }
  const progress = isEnding ? progressOfEnding(job) : progressOfSteps(place.steps);
  const asked = asks(plan.if, () => outerValues(place), progress);
  if (!asked.ok) return { type: "CANNOT_START", reason: "ExpressionFailed", message: `if: ${asked.message}`, now };
  if (asked.holds) return undefined;
  const bad = place.steps.find(isBad);
  if (bad === undefined || plan.if?.asksStatus === true) {
    return { type: "SKIP", reason: "ConditionNotMet", message: notMet(plan.if), now };
  }
  return {
    type: "SKIP",
    reason: "StepFailed",
    message: `step ${bad.name}, which comes before it, did not succeed`,
    now,
  };
}

function artifactsOf({ seen }: JobContext, step: StepStatus): readonly ArtifactRef[] {
  const found = seen.runs.get(step.runName ?? "");
  return found?.kind === "ours" ? (found.object.status?.artifactRefs ?? []) : [];
}
