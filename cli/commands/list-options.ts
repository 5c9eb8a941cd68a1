import type { RunPhase } from "#api/kinds/run.ts";
import { runPhases } from "#api/run-phases.ts";
import { suggestion } from "../closest.ts";
import { CliError } from "../errors.ts";

/** Filters of a list that the server applies. */
export interface RunFilters {
  /** Phases as typed, one or more with commas between. */
  readonly phase?: string;
  readonly runtime?: string;
}

/**
 * The field selector for Runs. Field selectors know no "one of", so several phases are said as none of the others.
 *
 * @throws CliError for a phase that does not exist
 */
export function runFieldSelector({ phase, runtime }: RunFilters): string | undefined {
  const wanted = phase === undefined ? undefined : parsePhases(phase, runPhases);
  const phases =
    wanted === undefined
      ? []
      : wanted.length === 1
        ? [`status.phase=${wanted[0]}`]
        : runPhases.filter((one: RunPhase) => !wanted.includes(one)).map((one) => `status.phase!=${one}`);
  const terms = [...(runtime === undefined ? [] : [`spec.runtime=${runtime}`]), ...phases];
  return terms.length === 0 ? undefined : terms.join(",");
}

/**
 * Reads phases; case does not matter.
 * @throws CliError for one that does not exist
 */
export function parsePhases<P extends string>(text: string, phases: readonly P[]): P[] {
  return text.split(",").map((word) => {
    const found = phases.find((phase) => phase.toLowerCase() === word.trim().toLowerCase());
    if (found !== undefined) return found;
    throw new CliError(`there is no phase ${word}`, {
      advice: suggestion(word, phases) ?? `Phases are ${phases.join(", ")}.`,
    });
  });
}
