/** The few forms of Markdown that generated pages use. */

/** Text inside a table: a bar would end the cell, a line break the row. */
export function cell(text: string): string {
  return text.replaceAll("\n", " ").replaceAll("|", "\\|");
}

/** Text as code inside a table, with backticks of its own kept. */
export function code(text: string): string {
  const fence = text.includes("`") ? "``" : "`";
  return `${fence}${cell(text)}${fence}`;
}

/** The lines of a table. Cells are taken as they are. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)];
}
