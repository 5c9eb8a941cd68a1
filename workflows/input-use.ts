/** Which jobs use an input of their workflow, by their expressions. */
import type { Condition, Expression, Template } from "./expressions/compile.ts";
import type { ValueTemplate } from "./expressions/value.ts";
import { type EnvPlan, type Flag, type JobPlan, type StepPlan, stepsOf, type WorkflowPlan } from "./plan.ts";

/** Whether anything of a job but its matrix uses one of these inputs; variables of the workflow are part of every job with steps. */
export function usesInputs(plan: Pick<WorkflowPlan, "env">, job: JobPlan, names: ReadonlySet<string>): boolean {
  const around = job.work.kind === "steps" ? inEnv(plan.env) : [];
  return anyUses([...around, ...inJob(job)], names);
}

/** Whether the outputs of the workflow use one of these inputs. */
export function outputsUseInputs({ outputs }: Pick<WorkflowPlan, "outputs">, names: ReadonlySet<string>): boolean {
  return anyUses(inEnv(outputs), names);
}

/** Whether the matrix of a job uses one of these inputs. */
export function matrixUsesInputs({ strategy }: JobPlan, names: ReadonlySet<string>): boolean {
  return strategy?.matrix.kind === "dynamic" && anyUses(inValue(strategy.matrix.value), names);
}

function anyUses(expressions: readonly Expression[], names: ReadonlySet<string>): boolean {
  const wanted = new Set([...names].map((name) => name.toLowerCase()));
  return expressions.some(({ references }) =>
    // Without a name all inputs are meant, or one whose name is computed.
    [...references.values()].some(
      ({ path: [context, name] }) => context === "inputs" && (name === undefined || wanted.has(name.toLowerCase())),
    ),
  );
}

function inJob(job: JobPlan): Expression[] {
  const { work } = job;
  return [
    ...inCondition(job.if),
    ...inEnv(job.env),
    ...inEnv(job.outputs),
    ...inFlag(job.continueOnError),
    ...(work.kind === "workflow" ? inEnv(work.with) : inTemplate(work.runsOn)),
    ...stepsOf(job).flatMap(inStep),
  ];
}

/** An Action sees what `with` hands over, and nothing else. */
function inStep({ if: condition, env, continueOnError, work }: StepPlan): Expression[] {
  const own = [...inCondition(condition), ...inEnv(env), ...inFlag(continueOnError)];
  switch (work.kind) {
    case "run":
      return [...own, ...inTemplate(work.run)];
    case "gate":
      return [...own, ...inTemplate(work.message)];
    case "action":
      return [...own, ...inEnv(work.with)];
  }
}

const inTemplate = (template: Template | undefined): readonly Expression[] => template?.expressions ?? [];
const inCondition = (condition: Condition | undefined): Expression[] => (condition ? [condition.expression] : []);
const inFlag = (flag: Flag): Expression[] => (typeof flag === "boolean" ? [] : inCondition(flag));
const inEnv = (env: EnvPlan): Expression[] => [...env.values()].flatMap(inTemplate);

function inValue(value: ValueTemplate): Expression[] {
  switch (value.kind) {
    case "constant":
      return [];
    case "text":
      return [...inTemplate(value.template)];
    case "list":
      return value.items.flatMap(inValue);
    case "map":
      return value.members.flatMap(([, member]) => inValue(member));
  }
}
