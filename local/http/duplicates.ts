/** What a reader of JSON makes of the names of members that stand twice in an object: it takes the last one. */

/**
 * Paths of the members that stand more than once in their object, each once, in order, as `spec.steps[0].name`.
 *
 * @param text JSON that has been parsed, and so is known to be well formed
 */
export function duplicateFields(text: string): string[] {
  const found = new Set<string>();
  let at = 0;

  const skipSpace = () => {
    while (at < text.length && " \t\r\n".includes(text[at] ?? "")) at++;
  };

  /** The string that begins here, as it is written. */
  const string = (): string => {
    const from = at;
    for (at++; text[at] !== '"'; at++) if (text[at] === "\\") at++;
    at++;
    return text.slice(from, at);
  };

  const object = (path: string): void => {
    const seen = new Set<string>();
    for (at++; ; at++) {
      skipSpace();
      if (text[at] === "}") break;
      const name = JSON.parse(string()) as string;
      const member = path === "" ? name : `${path}.${name}`;
      if (seen.has(name)) found.add(member);
      seen.add(name);
      skipSpace();
      at++; // the colon
      value(member);
      skipSpace();
      if (text[at] === "}") break;
    }
    at++;
  };

  const array = (path: string): void => {
    for (let index = 0, first = true; ; index++, first = false) {
      at++;
      skipSpace();
      if (first && text[at] === "]") break;
      value(`${path}[${index}]`);
      skipSpace();
      if (text[at] === "]") break;
    }
    at++;
  };

  const value = (path: string): void => {
    skipSpace();
    if (text[at] === "{") object(path);
    else if (text[at] === "[") array(path);
    else if (text[at] === '"') string();
    else while (at < text.length && !",]} \t\r\n".includes(text[at] ?? "")) at++;
  };

  value("");
  return [...found];
}
