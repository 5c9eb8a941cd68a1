import { parseDuration } from "#api/duration.ts";
import type { StepSpec } from "#api/kinds/job.ts";
import { checkDuration } from "#api/validation/duration.ts";
import { forbidden, invalid, required } from "#api/validation/rule.ts";
import { compileWith } from "./compile-with.ts";
import { compileTemplate } from "./expressions/compile.ts";
import type { Scope, StepScopes } from "./expressions/scopes.ts";
import { type FieldError, listOf, under } from "./field-error.ts";
import type { ActionPlan, ActionWork, GateWork, ScriptWork, Shell, StepPlan } from "./plan.ts";
import { compileScript } from "./script/compile-script.ts";
import { type Language, languageOf } from "./script/language.ts";
import { checkUsedName } from "./used-name.ts";
import { type Uses, useErrors } from "./uses.ts";

type Result<Work = StepPlan["work"]> = { readonly work: Work; readonly errors: readonly FieldError[] };

/** Names of `shell`. */
export const shells = ["bash", "sh", "python", "node"] as const satisfies readonly Shell[];

const nothing: ScriptWork = { kind: "run", run: { text: "", expressions: [] } };

/**
 * Compiles what a step does.
 *
 * @param path of the step
 */
export function compileWork(
  spec: StepSpec,
  scopes: Pick<StepScopes, "rest">,
  path: string,
  around: { readonly runtime: Language | undefined; readonly uses: Uses },
): Result {
  const given = (["run", "uses", "suspend"] as const).filter((key) => spec[key] !== undefined);
  if (given.length !== 1) {
    const message =
      given.length === 0 ? `step "${spec.name}" does nothing` : `step "${spec.name}" has ${listOf(given)} at once`;
    const advice = "Write exactly one of run, uses and suspend.";
    return {
      work: nothing,
      errors: [given.length === 0 ? required(path, message, advice) : invalid(path, message, advice)],
    };
  }
  const errors = misplaced(spec, path);
  const { work, errors: faults } =
    spec.run !== undefined
      ? compileRun(spec.run, spec.shell, scopes, path, around.runtime)
      : spec.uses !== undefined
        ? compileUse(spec, spec.uses, scopes.rest, path, around.uses)
        : compileGate(spec.suspend ?? {}, scopes.rest, path);
  return { work, errors: [...errors, ...faults] };
}

/** Fields that mean something for some kinds of steps only, and what to do where they stand elsewhere. */
const belongs: readonly (readonly [field: keyof StepSpec, kinds: readonly string[], advice: string])[] = [
  ["shell", ["run"], "The steps of the Action, or nobody, run a script here; leave it out."],
  ["with", ["uses"], "Set variables with env; with hands values to an Action."],
  ["env", ["run", "uses"], "Leave it out: a gate runs no program."],
  ["artifacts", ["run", "uses"], "Leave it out: a gate runs no program."],
  ["timeout", ["run", "uses"], "Write suspend.duration: the time after which the gate opens by itself."],
  ["retry", ["run"], "Write it at the job, or at the steps of the Action; a gate does not fail."],
  ["continue-on-error", ["run", "uses"], "Leave it out: a gate does not fail."],
];

function misplaced(spec: StepSpec, path: string): FieldError[] {
  const kind = spec.run !== undefined ? "run" : spec.uses !== undefined ? "uses" : "suspend";
  return belongs
    .filter(([field, kinds]) => spec[field] !== undefined && !kinds.includes(kind))
    .map(([field, , advice]) => forbidden(under(path, field), `a step with ${kind} has no ${field}`, advice));
}

function compileRun(
  text: string,
  shell: string | undefined,
  scopes: Pick<StepScopes, "rest">,
  step: string,
  runtime: Language | undefined,
): Result<ScriptWork> {
  const path = under(step, "run");
  const known = shells.find((name) => name === shell);
  const errors: FieldError[] = [];
  if (shell !== undefined && known === undefined) {
    const advice = `Write ${listOf(shells)}, or begin the script with a #! line for another program.`;
    errors.push(invalid(under(step, "shell"), `there is no shell "${shell}"`, advice));
  }
  if (shell !== undefined && text.startsWith("#!")) {
    const advice = "Leave shell out, or the line.";
    errors.push(invalid(under(step, "shell"), "the script names its program itself, in its first line", advice));
  }
  const shellPart = known === undefined ? {} : { shell: known };
  // Most scripts have no expression: then nobody needs to know what they may refer to.
  if (!text.includes("${{")) return { work: { kind: "run", run: { text, expressions: [] }, ...shellPart }, errors };
  const { template, errors: faults } = compileTemplate(text, scopes.rest, path);
  errors.push(...faults);
  const language = known ?? languageOf(text, runtime);
  if (faults.length === 0 && language !== undefined) {
    const script = compileScript(template, language, path, { shell: known });
    if (!script.ok) errors.push(...script.errors);
  }
  return { work: { kind: "run", run: template, ...shellPart }, errors };
}

const emptyAction: ActionPlan = { steps: [], env: new Map(), inputs: new Map(), outputs: new Map() };

function compileUse(spec: StepSpec, action: string, scope: Scope, path: string, uses: Uses): Result<ActionWork> {
  const wrong = checkUsedName("Action", action, under(path, "uses"));
  if (wrong.length > 0) return { work: { kind: "action", action, plan: emptyAction, with: new Map() }, errors: wrong };
  const used = uses.action(action);
  const plan = used.kind === "plan" ? used.plan : emptyAction;
  const inputs = used.kind === "plan" ? plan.inputs : undefined;
  const { with: values, errors } = compileWith(spec.with, inputs, `Action "${action}"`, scope, path);
  return {
    work: { kind: "action", action, plan, with: values },
    errors: [...useErrors(used, under(path, "uses")), ...errors],
  };
}

function compileGate(spec: NonNullable<StepSpec["suspend"]>, scope: Scope, step: string): Result<GateWork> {
  const path = under(step, "suspend");
  const errors: FieldError[] = checkDuration(under(path, "duration"), spec.duration);
  const message = spec.message === undefined ? undefined : compileTemplate(spec.message, scope, under(path, "message"));
  errors.push(...(message?.errors ?? []));
  for (const [name, output] of Object.entries(spec.outputs ?? {})) {
    const { default: value, options } = output;
    const at = under(path, "outputs", name);
    if (value?.includes("${{")) {
      errors.push(
        invalid(under(at, "default"), "a default is a fixed text, not an expression", "Write the text itself."),
      );
    } else if (value !== undefined && options !== undefined && !options.includes(value)) {
      errors.push(
        invalid(under(at, "default"), `"${value}" is none of the options`, `Choose one of ${listOf(options)}.`),
      );
    }
    if (options?.length === 0)
      errors.push(invalid(under(at, "options"), "there is no option", "List values, or leave it out."));
  }
  const durationMs = parseDuration(spec.duration);
  const work: GateWork = {
    kind: "gate",
    ...(durationMs === undefined ? {} : { durationMs }),
    ...(message === undefined ? {} : { message: message.template }),
    outputs: new Map(Object.entries(spec.outputs ?? {})),
  };
  return { work, errors };
}
