import type { ChartModel, TransitionModel } from "./describe.ts";
import { isTerminalState } from "./describe.ts";

/**
 * The chart as a Mermaid `stateDiagram-v2`. Transitions that stay in their state only write or do something; they
 * stand in the table, so that the drawing shows how the phase moves.
 */
export function mermaid(model: ChartModel): string {
  const lines = ["stateDiagram-v2", "  direction LR", `  [*] --> ${model.initial}`];
  for (const { name } of model.states) {
    for (const [to, labels] of arrowsFrom(model, name)) lines.push(`  ${name} --> ${to}: ${labels.join("<br/>")}`);
    if (isTerminalState(model, name)) lines.push(`  ${name} --> [*]`);
  }
  const terminal = model.states.filter((state) => isTerminalState(model, state.name)).map((state) => state.name);
  if (terminal.length > 0) {
    lines.push("  classDef terminal stroke-width:3px", `  class ${terminal.join(",")} terminal`);
  }
  return `${lines.join("\n")}\n`;
}

/** One arrow for each pair of states, with everything that moves along it. */
function arrowsFrom(model: ChartModel, from: string): Map<string, string[]> {
  const arrows = new Map<string, string[]>();
  for (const transition of model.transitions) {
    if (transition.from !== from || !transition.moves) continue;
    const labels = arrows.get(transition.to) ?? [];
    labels.push(label(transition));
    arrows.set(transition.to, labels);
  }
  return arrows;
}

function label({ event, guard, reopens }: TransitionModel): string {
  return `${event}${guard === undefined ? "" : ` [${guard}]`}${reopens ? " (reopens)" : ""}`;
}
