import { SelectorError } from "./label.ts";

/** Field selectors as in URLs: `status.phase=Running,spec.nodeName!=`; a backslash escapes `,`, `=` and itself. */

/** One term of a field selector. */
export interface FieldRequirement {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/**
 * Parses a field selector; which fields may be named is the kind's business.
 *
 * @throws SelectorError
 */
export function parseFieldSelector(text: string): FieldRequirement[] {
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text)) {
    if (term === "") continue;
    requirements.push(parseTerm(term, text));
  }
  return requirements;
}

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i += 1;
    else if (text[i] === ",") {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function parseTerm(term: string, selector: string): FieldRequirement {
  for (let i = 0; i < term.length; i++) {
    const operator = ["!=", "==", "="].find((candidate) => term.startsWith(candidate, i));
    if (operator !== undefined) {
      return {
        field: term.slice(0, i),
        equal: operator !== "!=",
        value: unescapeValue(term.slice(i + operator.length)),
      };
    }
  }
  throw new SelectorError(`invalid selector: '${selector}'; can't understand '${term}'`);
}

function unescapeValue(text: string): string {
  let value = "";
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? "";
    if (char === "\\") {
      const escaped = text[i + 1];
      if (escaped !== "\\" && escaped !== "," && escaped !== "=") {
        throw new SelectorError(`invalid field selector: invalid escape sequence in value: ${text}`);
      }
      value += escaped;
      i += 1;
    } else if (char === "=") {
      throw new SelectorError(`invalid field selector: unescaped character in value: ${text}`);
    } else {
      value += char;
    }
  }
  return value;
}
