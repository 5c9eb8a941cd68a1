/** Lines with aligned columns, three spaces apart as kubectl has them; the last column is as long as it is. */
export function tableLines(headers: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const lines = [headers, ...rows];
  const widths = headers.map((_, column) =>
    lines.reduce((longest, cells) => Math.max(longest, cells[column]?.length ?? 0), 0),
  );
  return lines.map((cells) =>
    cells
      .map((cell, column) => (column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join("   ")
      .trimEnd(),
  );
}
