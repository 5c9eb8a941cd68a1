import { stripVTControlCharacters } from "node:util";
import { type LogRecord, recordBytes } from "#api/log-record.ts";
import { printable } from "#workflows/text.ts";

/** One line of output of a Run. */
export interface LogLine {
  readonly label: string;
  readonly stream: LogRecord["stream"];
  readonly text: string;
}

/** The text of a record, without its line end. Bytes that are not UTF-8 are replaced. */
export function recordText(record: LogRecord): string {
  return record.encoding === undefined ? record.message : Buffer.from(recordBytes(record)).toString("utf8").trimEnd();
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: color sequences begin with one
const colors = /\u001b\[[\d;:]*m/;

/**
 * Output as it may go to a terminal: colors stay where they are wanted; everything else that steers a terminal would tear up the
 * lines around it, and goes. Of a line that was written over (progress bars) the last text stays.
 */
export function terminalText(text: string, color: boolean): string {
  const shown = text.trimEnd().split("\r").at(-1) ?? "";
  if (!color || !colors.test(shown)) return plain(shown);
  const parts = shown.split(new RegExp(`(${colors.source})`));
  return `${parts.map((part, index) => (index % 2 === 1 ? part : plain(part))).join("")}\u001b[0m`;
}

function plain(text: string): string {
  return stripVTControlCharacters(text)
    .split("\t")
    .map((part) => printable(part))
    .join("\t");
}

/** What stands between the label and the text; words of the platform are told from output. */
export const separator = (stream: LogRecord["stream"]) => (stream === "system" ? " * " : " | ");
