/** Small things about text on terminals. */

/** How a piece of text looks. */
export type Paint = keyof typeof codes;

const codes = {
  plain: "",
  dim: "2",
  red: "31",
  green: "32",
  yellow: "33",
  blue: "34",
  magenta: "35",
  cyan: "36",
} as const;

/** The text in an ANSI color. */
export function paint(text: string, style: Paint): string {
  return codes[style] === "" || text === "" ? text : `\u001b[${codes[style]}m${text}\u001b[0m`;
}

/**
 * The text with everything that steers a terminal written out: what programs print as values must not move the cursor, change
 * colors or hide other lines.
 */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (character) => {
    const short = escapes.get(character);
    return short ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** At most so many characters; what is cut shows as `…`. */
export function cut(text: string, width: number): string {
  const characters = [...text];
  if (characters.length <= width) return text;
  return width < 1 ? "" : `${characters.slice(0, width - 1).join("")}…`;
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** Bytes for people: `0 B`, `812 B`, `1.5 KiB`. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
