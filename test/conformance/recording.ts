import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "#kube/json.ts";
import type { Exchange } from "#local/http/recorder.ts";
import { Symbols } from "./symbols.ts";

/** Requests of one scenario in the order in which they were answered. */
export interface Recording {
  /** What was done, e.g. `kubectl apply -f runtime.yaml`. */
  readonly scenario: string;
  readonly exchanges: readonly Exchange[];
}

export const folder = join(import.meta.dirname, "recordings");

/** Documents that describe the server: large, and compared by tests of their own. */
const descriptions = /^\/(openapi\/.*|version|apis?(\/v1|\/[^/]+(\/[^/]+)?)?)$/;

/** Collects exchanges and makes a recording of them. */
export class Recorder {
  readonly #symbols = new Symbols();
  readonly #exchanges: Exchange[] = [];

  readonly take = (exchange: Exchange): void => {
    if (descriptions.test(exchange.request.path)) return;
    this.#exchanges.push(this.#clean(exchange));
  };

  /** What was collected since the last call. */
  recording(scenario: string): Recording {
    return { scenario, exchanges: this.#exchanges.splice(0) };
  }

  #clean({ request, answer }: Exchange): Exchange {
    const generated =
      isObject(request.body) && isObject(request.body.metadata) && "generateName" in request.body.metadata;
    if (generated && isObject(answer.body) && isObject(answer.body.metadata)) {
      this.#symbols.addName(String(answer.body.metadata.name));
    }
    const { path, query, body } = request;
    return {
      request: {
        ...request,
        path: this.#symbols.text(path),
        query: this.#symbols.value(query) as Record<string, string>,
        ...(body === undefined ? {} : { body: this.#symbols.value(comparable(body)) }),
      },
      answer: {
        ...answer,
        ...(answer.body === undefined ? {} : { body: this.#symbols.value(comparable(answer.body)) }),
      },
    };
  }
}

/** What of a body is recorded and compared: values of Secrets stay on the machine, words about columns do not matter. */
export function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name, comparable(member)]);
  const result = Object.fromEntries(members) as Record<string, unknown>;
  if ("format" in value && "priority" in value) delete result.description;
  if (value.kind !== "Secret") return result;
  for (const name of ["data", "stringData"]) {
    if (isObject(value[name])) {
      result[name] = Object.fromEntries(Object.keys(value[name]).map((key) => [key, "c2VjcmV0"]));
    }
  }
  return result;
}

/** One exchange a line, so that a changed one is a changed line. */
export function writeRecording(file: string, recordings: readonly Recording[]): void {
  const lines = recordings.flatMap(({ scenario, exchanges }) =>
    exchanges.map((exchange) => JSON.stringify({ scenario, ...exchange })),
  );
  writeFileSync(join(folder, file), `${lines.join("\n")}\n`);
}

/** All recordings, by file. */
export function readRecordings(): Readonly<Record<string, readonly Recording[]>> {
  const files = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  return Object.fromEntries(files.map((name) => [name, readRecording(readFileSync(join(folder, name), "utf8"))]));
}

function readRecording(text: string): readonly Recording[] {
  const recordings: { scenario: string; exchanges: Exchange[] }[] = [];
  for (const line of text.trimEnd().split("\n")) {
    const { scenario, ...exchange } = JSON.parse(line) as Exchange & { scenario: string };
    const last = recordings.at(-1);
    if (last?.scenario === scenario) last.exchanges.push(exchange);
    else recordings.push({ scenario, exchanges: [exchange] });
  }
  return recordings;
}
