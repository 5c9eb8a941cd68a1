/**
 * The format of the outputs file:
 *
 * - `KEY=VALUE`: the value is everything after the first `=`, spaces included. A carriage return at the end of the line
 *   belongs to the line ending, not to the value.
 * - `KEY<<DELIM`: the value is the following lines up to a line that is exactly `DELIM`, joined as they are (carriage
 *   returns kept). What comes first decides: a `<<` after a `=` is part of a value.
 * - Blank lines are skipped. There are no comments and no escapes. Of several values for one key the last one counts.
 * - The text is UTF-8; a byte order mark at the start is skipped.
 */

export const outputLimits = {
  keys: 64,
  keyBytes: 128,
  valueBytes: 8 * 1024,
  /** Size of the whole file, overwritten values and delimiters included. */
  totalBytes: 64 * 1024,
} as const;

/** How much of the file must be read: one byte over the limit shows that it is too large. */
export const outputReadBytes = outputLimits.totalBytes + 1;

export type ParsedOutputs =
  | { readonly ok: true; readonly outputs: Readonly<Record<string, string>> }
  | {
      readonly ok: false;
      readonly reason: "OutputsInvalid" | "OutputsTooLarge";
      /** Names the line, the limit where there is one, and what to do. */
      readonly message: string;
    };

type Refusal = ParsedOutputs & { readonly ok: false };

/** Parses the content of the file `KRUNTIME_OUTPUTS`, of which at most {@link outputReadBytes} bytes are given. */
export function parseOutputs(file: Uint8Array): ParsedOutputs {
  if (file.length > outputLimits.totalBytes) {
    return tooLarge(lineAt(file, outputLimits.totalBytes), `the file exceeds ${outputLimits.totalBytes} bytes`);
  }
  const lines = decodeLines(file);
  if (!Array.isArray(lines)) return lines;

  const outputs = new Map<string, string>();
  for (let index = 0; index < lines.length; ) {
    const number = index + 1;
    const line = withoutReturn(lines[index++] ?? "");
    if (line.trim() === "") continue;

    const equals = line.indexOf("=");
    const block = line.indexOf("<<");
    if (equals < 0 && block < 0) {
      return invalid(number, `"${shorten(line)}" is neither KEY=VALUE nor KEY<<DELIMITER`);
    }
    let value: string;
    const isBlock = block >= 0 && (equals < 0 || block < equals);
    const key = line.slice(0, isBlock ? block : equals);
    if (isBlock) {
      const delimiter = line.slice(block + 2);
      if (delimiter === "") return invalid(number, `the delimiter after "${shorten(key)}<<" is missing`);
      const end = findDelimiter(lines, index, delimiter);
      if (end < 0)
        return invalid(number, `no later line is exactly "${shorten(delimiter)}", which would end the value`);
      value = lines.slice(index, end).join("\n");
      index = end + 1;
    } else {
      value = line.slice(equals + 1);
    }
    const refusal = checkKey(number, key) ?? checkValue(number, key, value);
    if (refusal !== undefined) return refusal;
    outputs.set(key, value);
    if (outputs.size > outputLimits.keys) {
      return tooLarge(number, `"${shorten(key)}" is one key more than the ${outputLimits.keys} that are allowed`);
    }
  }
  return { ok: true, outputs: Object.fromEntries(outputs) };
}

function findDelimiter(lines: readonly string[], from: number, delimiter: string): number {
  for (let at = from; at < lines.length; at++) if (withoutReturn(lines[at] ?? "") === delimiter) return at;
  return -1;
}

function checkKey(line: number, key: string): Refusal | undefined {
  if (key === "") return invalid(line, "the key before the = or << is empty");
  if (/[\s\p{Cc}]/u.test(key)) {
    return invalid(line, `the key "${shorten(key)}" contains a space or control character`);
  }
  const bytes = Buffer.byteLength(key);
  if (bytes <= outputLimits.keyBytes) return undefined;
  return tooLarge(line, `the key "${shorten(key)}" has ${bytes} bytes, over the limit of ${outputLimits.keyBytes}`);
}

function checkValue(line: number, key: string, value: string): Refusal | undefined {
  const bytes = Buffer.byteLength(value);
  if (bytes <= outputLimits.valueBytes) return undefined;
  return tooLarge(line, `the value of "${key}" has ${bytes} bytes, over the limit of ${outputLimits.valueBytes}`);
}

/** The lines of the file, without their newlines; or the first line that is not UTF-8. */
function decodeLines(file: Uint8Array): string[] | Refusal {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(file).split("\n");
  } catch {
    return invalid(firstBadLine(file), "the line is not valid UTF-8; encode binary values, for example with base64");
  }
}

/** A newline is never part of a longer UTF-8 sequence, so the lines can be tried one by one. */
function firstBadLine(file: Uint8Array): number {
  const strict = new TextDecoder("utf-8", { fatal: true });
  for (let start = 0, number = 1; ; number++) {
    const end = file.indexOf(0x0a, start);
    try {
      strict.decode(file.subarray(start, end < 0 ? file.length : end));
    } catch {
      return number;
    }
    if (end < 0) return number;
    start = end + 1;
  }
}

function lineAt(file: Uint8Array, offset: number): number {
  let number = 1;
  for (let at = file.indexOf(0x0a); at >= 0 && at < offset; at = file.indexOf(0x0a, at + 1)) number++;
  return number;
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

function invalid(line: number, what: string): Refusal {
  return { ok: false, reason: "OutputsInvalid", message: `outputs line ${line}: ${what}` };
}

function tooLarge(line: number, what: string): Refusal {
  return { ok: false, reason: "OutputsTooLarge", message: `outputs line ${line}: ${what}; use an artifact for more` };
}

/** Short enough for a message, and without characters that garble it. */
function shorten(text: string): string {
  const shown = text.length <= 60 ? text : `${text.slice(0, 57).toWellFormed()}...`;
  return shown.replace(/\p{Cc}/gu, "\uFFFD");
}
