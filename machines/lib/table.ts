import type { ChartModel } from "./describe.ts";
import { movesByWriter } from "./writers.ts";

/** A Markdown table; `|` in a cell is escaped. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return `${[line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n")}\n`;
}

/** States and what they mean. */
export function stateTable(model: ChartModel): string {
  return markdownTable(
    ["State", "Meaning", ""],
    model.states.map(({ name, description, tags }) => [
      code(name),
      description,
      [name === model.initial ? "initial" : "", ...tags].filter((tag) => tag !== "").join(", "),
    ]),
  );
}

/** Every transition: event and guard, where to, who fires it, which reasons and effects it has. */
export function transitionTable(model: ChartModel): string {
  return markdownTable(
    ["From", "Event", "Guard", "To", "Writer", "What happens", "Reasons", "Effects"],
    model.transitions.map((each) => [
      code(each.from),
      code(each.event),
      each.guard === undefined ? "" : code(each.guard),
      each.moves ? code(each.to) : "stays",
      each.writers.join(", "),
      `${each.description}${each.reopens ? " Reopens: `attempt` rises by one." : ""}`,
      each.reasons.join(", "),
      each.effects.map(code).join(", "),
    ]),
  );
}

/** Who may move the phase from where to where, by one status write. */
export function writerTable(model: ChartModel): string {
  const rows = Object.entries(movesByWriter(model)).flatMap(([writer, moves]) =>
    Object.entries(moves)
      .map(([from, to]) => [from, to.filter((each) => each !== from)] as const)
      .filter(([, to]) => to.length > 0)
      .map(([from, to]) => [writer, code(from), to.map(code).join(", ")]),
  );
  return markdownTable(["Writer", "From", "To"], rows);
}

function code(text: string): string {
  return `\`${text}\``;
}
