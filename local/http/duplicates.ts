/** What a reader of JSON makes of the names of members that stand twice in an object: it takes the last one. */

/**
 * Where in a text each member stands, by its path, as `spec.steps[0].name`: at more than one place when it is there twice.
 *
 * @param text JSON that has been parsed, and so is known to be well formed
 */
export function memberPlaces(text: string): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>();
  let at = 0;

  /** @param isAgain whether the object that it is in has had it already; an object that is there twice itself is two */
  const note = (path: string, isAgain: boolean) => {
    const places = found.get(path);
    if (places === undefined) found.set(path, [at]);
    else if (isAgain) places.push(at);
  };

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
      note(member, seen.has(name));
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
  return found;
}

/** Paths of the members that stand more than once in their object, each once, in the order in which that is seen. */
export function duplicateFields(places: ReadonlyMap<string, readonly number[]>): string[] {
  const seenAgain = ([, all]: readonly [string, readonly number[]]) => all[1] ?? 0;
  return [...places]
    .filter(([, all]) => all.length > 1)
    .sort((a, b) => seenAgain(a) - seenAgain(b))
    .map(([path]) => path);
}
