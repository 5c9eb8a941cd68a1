import { expect, test } from "vitest";
import type { LogRecord } from "#api/log-record.ts";
import { recordText, terminalText } from "./log-line.ts";

const record = (part: Partial<LogRecord>): LogRecord => ({
  run: "u",
  attempt: 1,
  seq: 1,
  time: "2026-01-01T00:00:00.000000Z",
  stream: "stdout",
  message: "",
  ...part,
});

test("text is shown as it is, bytes as far as they are text", () => {
  expect(recordText(record({ message: "a\tb " }))).toBe("a\tb ");
  const bytes = Buffer.from([0x61, 0xff, 0x62]).toString("base64");
  expect(recordText(record({ message: bytes, encoding: "base64" }))).toBe("a\ufffdb");
  expect(recordText(record({ message: bytes, encoding: "base64", partial: true }))).toBe("a\ufffdb");
});

const red = "\u001b[31m";
const off = "\u001b[0m";

const cases: Record<string, { text: string; color?: boolean; want: string }> = {
  "ordinary text stays": { text: "hello\tworld é 日", want: "hello\tworld é 日" },
  "colors stay where they are wanted, and end with the line": { text: `${red}no`, color: true, want: `${red}no${off}` },
  "and go where they are not": { text: `${red}no${off}`, want: "no" },
  "the cursor does not move": { text: "a\u001b[3Ab\u001b[2J\u001b[1;1Hc", color: true, want: "abc" },
  "titles and links go": { text: "\u001b]0;title\u0007x", color: true, want: "x" },
  "other control characters are written out": { text: "a\u0008b\u0000", want: "a\\u0008b\\u0000" },
  "of a progress bar the last state stays": { text: "10%\r50%\r100%", want: "100%" },
  "a line end of Windows is none": { text: "done\r", want: "done" },
  "text that goes the other way is written out": { text: "a\u202eb", want: "a\\u202eb" },
};

test.each(Object.entries(cases))("%s", (_, { text, color = false, want }) => {
  expect(terminalText(text, color)).toBe(want);
});
