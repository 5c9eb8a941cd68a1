/**
 * Label selectors as in URLs: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`. A requirement with `!=` or `notin` also takes
 * objects that lack the label.
 */

/** Labels of an object, if it has any. */
export type Labels = Readonly<Record<string, string>> | undefined;
/** Whether labels are selected. */
export type LabelSelector = (labels: Labels) => boolean;

/** The text is no label selector. The message says what stands where. */
export class SelectorError extends Error {
  override readonly name = "SelectorError";
}

const keyPattern = /^(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const valuePattern = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const tokenPattern = /\s*(!=|==|=|!|>|<|\(|\)|,|[^\s!=<>(),]+)/y;

/**
 * Parses a label selector.
 *
 * @throws SelectorError
 */
export function parseLabelSelector(text: string): LabelSelector {
  const tokens = tokenize(text);
  const requirements: LabelSelector[] = [];
  let position = 0;
  const peek = (): string => tokens[position] ?? "";
  const next = (): string => tokens[position++] ?? "";

  if (tokens.length === 0) return () => true;
  for (;;) {
    requirements.push(requirement());
    if (position === tokens.length) break;
    const separator = next();
    if (separator !== ",") throw new SelectorError(`found '${separator}', expected: ',' or 'end of string'`);
    if (position === tokens.length) throw new SelectorError("found '', expected: identifier after ','");
  }
  return (labels) => requirements.every((matches) => matches(labels));

  function requirement(): LabelSelector {
    if (peek() === "!") {
      next();
      const key = labelKey(next());
      return (labels) => labelOf(labels, key) === undefined;
    }
    const key = labelKey(next());
    switch (peek()) {
      case "":
      case ",":
        return (labels) => labelOf(labels, key) !== undefined;
      case "=":
      case "==": {
        next();
        const value = optionalValue();
        return (labels) => labelOf(labels, key) === value;
      }
      case "!=": {
        next();
        const value = optionalValue();
        return (labels) => labelOf(labels, key) !== value;
      }
      case ">":
      case "<": {
        const greater = next() === ">";
        const text = next();
        if (!/^-?\d+$/.test(text)) {
          throw new SelectorError(
            `values[0][${key}]: Invalid value: "${text}": for 'Gt', 'Lt' operators, the value must be an integer`,
          );
        }
        const limit = Number(text);
        return (labels) => {
          const value = labelOf(labels, key);
          if (value === undefined || !/^-?\d+$/.test(value)) return false;
          return greater ? Number(value) > limit : Number(value) < limit;
        };
      }
      case "in":
      case "notin": {
        const positive = next() === "in";
        const values = valueSet();
        return (labels) => {
          const value = labelOf(labels, key);
          return (value !== undefined && values.has(value)) === positive;
        };
      }
      default:
        throw new SelectorError(`found '${peek()}', expected: in, notin, =, ==, !=, gt, lt`);
    }
  }

  /** `a=` and `a!=` compare with the empty string. */
  function optionalValue(): string {
    return peek() === "" || peek() === "," ? "" : labelValue(next());
  }

  function valueSet(): Set<string> {
    const open = next();
    if (open !== "(") throw new SelectorError(`found '${open}', expected: '('`);
    const values = new Set<string>();
    for (;;) {
      if (peek() === "," || peek() === ")") values.add("");
      else values.add(labelValue(next()));
      const separator = next();
      if (separator === ")") return values;
      if (separator !== ",") throw new SelectorError(`found '${separator}', expected: ',' or ')'`);
    }
  }
}

function tokenize(text: string): string[] {
  const tokens: string[] = [];
  tokenPattern.lastIndex = 0;
  const end = text.trimEnd().length;
  while (tokenPattern.lastIndex < end) {
    const match = tokenPattern.exec(text);
    if (match?.[1] === undefined) throw new SelectorError(`unable to parse requirement: ${JSON.stringify(text)}`);
    tokens.push(match[1]);
  }
  return tokens;
}

function labelKey(text: string): string {
  if (text.length > 317 || !keyPattern.test(text)) {
    throw new SelectorError(
      `key: Invalid value: ${JSON.stringify(text)}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`,
    );
  }
  return text;
}

function labelValue(text: string): string {
  if (!valuePattern.test(text)) {
    throw new SelectorError(
      `values[0]: Invalid value: ${JSON.stringify(text)}: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`,
    );
  }
  return text;
}

function labelOf(labels: Labels, key: string): string | undefined {
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
}
