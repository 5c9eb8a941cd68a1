export { clip } from "#api/text.ts";

/** The first line, with a mark when more follows: for texts that quote another one. */
export function firstLine(text: string): string {
  const [first = "", ...rest] = text.trimStart().split("\n");
  return rest.some((line) => line.trim() !== "") ? `${first.trimEnd()} …` : first.trimEnd();
}
