import { isObject } from "#kube/json.ts";

/**
 * Recordings hold no value that another server, or another day, would answer differently: UIDs, versions, generated names
 * and tokens are symbols (`{uid-1}`), times and ages are `{time}` and `{age}`. The same symbol always stands for the same
 * value, so a replay can tell that an answer of one request is used in another.
 */

const uid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const age = /^(\d+[smhdy]){1,2}$/;
const symbol = /\{(?:uid|version|name|continue)-\d+\}/g;

/** What stands for any time in a replayed request. */
const someTime = "2026-01-01T00:00:00.000000Z";

/** Turns what was recorded into symbols; remembers which is which. */
export class Symbols {
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  /** A name that the server made up; it is a symbol from now on, wherever it stands. */
  addName(name: string): void {
    this.#symbolOf("name", name);
  }

  value(value: unknown, key = ""): unknown {
    if (typeof value === "string") return this.text(value, key);
    if (Array.isArray(value)) return value.map((item) => this.value(item, key));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.value(member, name)]));
  }

  text(text: string, key = ""): string {
    if (key === "resourceVersion" && /^[1-9]\d*$/.test(text)) return this.#symbolOf("version", text);
    if (key === "continue" && text !== "") return this.#symbolOf("continue", text);
    if (key === "cells" && age.test(text)) return "{age}";
    if (time.test(text)) return "{time}";
    let result = text.replace(uid, (found) => this.#symbolOf("uid", found));
    for (const [value, name] of this.#known) {
      if (name.startsWith("{name-")) result = result.replaceAll(value.slice("name ".length), name);
    }
    return result;
  }

  #symbolOf(kind: string, value: string): string {
    const key = `${kind} ${value}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    this.#known.set(key, `{${kind}-${count}}`);
    return `{${kind}-${count}}`;
  }
}

/** The symbols in a recorded value. */
export function symbolsIn(value: unknown): readonly string[] {
  return JSON.stringify(value ?? null).match(symbol) ?? [];
}

/** What symbols stand for in one replay. */
export class Bindings {
  readonly #values = new Map<string, string>();
  readonly #reserved: ReadonlySet<string>;

  /** @param reserved symbols that only {@link differences} binds */
  constructor(reserved: ReadonlySet<string> = new Set()) {
    this.#reserved = reserved;
  }

  /** A recorded value with its symbols replaced; a symbol that is not bound yet stays. */
  fill(value: unknown): unknown {
    if (typeof value === "string") {
      if (value === "{time}") return someTime;
      return value.replace(symbol, (found) => this.#values.get(found) ?? found);
    }
    if (Array.isArray(value)) return value.map((item) => this.fill(item));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.fill(member)]));
  }

  /** Binds the symbols of an answer that are not reserved; how it differs does not count. */
  bind(recorded: unknown, actual: unknown): void {
    const before = new Map(this.#values);
    this.differences(recorded, actual);
    for (const name of this.#reserved) {
      const value = before.get(name);
      if (value === undefined) this.#values.delete(name);
      else this.#values.set(name, value);
    }
  }

  /**
   * Compares an answer with the recorded one, and binds symbols that it sees for the first time.
   *
   * @returns a line for each difference
   */
  differences(recorded: unknown, actual: unknown, path = ""): string[] {
    if (typeof recorded === "string") return this.#textDifferences(recorded, actual, path);
    if (Array.isArray(recorded) && Array.isArray(actual)) {
      const length = Math.max(recorded.length, actual.length);
      return Array.from({ length }).flatMap((_, index) =>
        this.differences(recorded[index], actual[index], `${path}[${index}]`),
      );
    }
    if (isObject(recorded) && isObject(actual)) {
      const names = new Set([...Object.keys(recorded), ...Object.keys(actual)]);
      return [...names].flatMap((name) => this.differences(recorded[name], actual[name], `${path}.${name}`));
    }
    return Object.is(recorded, actual) ? [] : [`${path}: ${JSON.stringify(actual)}, not ${JSON.stringify(recorded)}`];
  }

  #textDifferences(recorded: string, actual: unknown, path: string): string[] {
    const wrong = [`${path}: ${JSON.stringify(actual)}, not ${JSON.stringify(recorded)}`];
    if (typeof actual !== "string") return wrong;
    if (recorded === "{time}") return time.test(actual) ? [] : wrong;
    if (recorded === "{age}") return age.test(actual) ? [] : wrong;
    const names = recorded.match(symbol) ?? [];
    const pattern = recorded.split(symbol).map(escaped).join("(.+?)");
    const match = new RegExp(`^${pattern}$`, "s").exec(actual);
    if (match === null) return wrong;
    const clash = names.some((name, index) => {
      const value = match[index + 1] ?? "";
      const bound = this.#values.get(name);
      if (bound === undefined) this.#values.set(name, value);
      return bound !== undefined && bound !== value;
    });
    return clash ? wrong : [];
  }
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
