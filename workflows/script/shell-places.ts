import type { Placement, Refusal } from "./placement.ts";

/** How a reference to the variable is written at each place of a shell script. */
export const places = {
  unquoted: { write: (name) => `"\${${name}}"` },
  double: { write: (name) => `\${${name}}` },
  single: { write: (name) => `'"\${${name}}"'` },
  dollarSingle: { write: (name) => `'"\${${name}}"$'` },
} as const satisfies Readonly<Record<string, Placement>>;

/** Why an expression cannot stand at a place, whatever command it belongs to. */
export const refusals = {
  arithmetic: {
    message: "the shell calculates here, and calculating a value can run commands",
    advice: "Put it into a shell variable first, check that it is a number, and calculate with the variable.",
  },
  calculatedTest: {
    message: "[[ ]] with -eq, -ne, -lt, -le, -gt or -ge calculates, and calculating a value can run commands",
    advice: "Use [ ] with the same operator: it takes only numbers.",
  },
  parameter: {
    message: "an expression cannot stand inside the braces of a shell variable",
    advice: "Put it into a shell variable first and use that variable.",
  },
  backticks: {
    message: "an expression cannot stand inside backticks",
    advice: "Write $(command) instead of `command`.",
  },
  quotedDocument: {
    message: "nothing is filled in inside a here-document whose delimiter is quoted",
    advice: "Take the quotes of the delimiter away and put a backslash before each $ that is to stay.",
  },
  delimiter: { message: "the delimiter of a here-document is a fixed word", advice: "Write a word such as EOF." },
  backslash: {
    message: "a backslash stands directly before the expression",
    advice: "Write two backslashes for one, or leave it out: a value needs no protection.",
  },
  dollar: {
    message: "a dollar sign stands directly before the expression",
    advice: "Write \\$ for a dollar sign.",
  },
} as const satisfies Readonly<Record<string, Refusal>>;
