import { RecordLine } from "#api/record-line.ts";
import { parseTime } from "#api/time.ts";
import { badRequest } from "#local/apiserver/errors.ts";
import type { StoredObject } from "#local/apiserver/index.ts";
import type { FileLog } from "#local/logs/line-file.ts";
import { items, text } from "#local/table/fields.ts";
import type { PodLogRoute } from "./front.ts";

export interface PodLogDeps {
  /** The output of a container, which may not have printed anything yet. */
  readonly open: (podUid: string, container: string) => FileLog;
  /** Resolves when the Pod is deleted, or the signal is aborted. */
  readonly gone: (pod: StoredObject, signal: AbortSignal) => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

type Query = Readonly<Record<string, string>>;

interface Options {
  readonly container: string;
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number;
  /** Milliseconds since the epoch; lines without a time of their own count as those before them. */
  readonly sinceMs: number;
  readonly limitBytes: number;
}

/** `GET .../pods/NAME/log`: the lines of one container, from the file that the node keeps. */
export function podLogRoute(deps: PodLogDeps): PodLogRoute {
  return async (pod, query, signal) => {
    const options = readOptions(pod, query, deps.now());
    const log = deps.open(pod.metadata.uid, options.container);
    return {
      code: 200,
      headers: { "content-type": "text/plain" },
      body: limited(linesOf(log, pod, options, signal, deps.gone), options.limitBytes),
    };
  };
}

async function* linesOf(
  log: FileLog,
  pod: StoredObject,
  options: Options,
  signal: AbortSignal,
  gone: PodLogDeps["gone"],
): AsyncIterable<string> {
  const ending = new AbortController();
  const end = () => ending.abort();
  signal.addEventListener("abort", end, { once: true });
  try {
    const shown = (line: string) => `${options.timestamps ? `${timeOf(line) ?? ""} ` : ""}${line}\n`;
    const start = await log.end();
    for (const line of await lastLines(log, start, options)) yield shown(line);
    if (!options.follow) return;
    void gone(pod, ending.signal).then(end);
    for await (const line of comingLines(log, start, ending.signal)) yield shown(line);
  } finally {
    signal.removeEventListener("abort", end);
    end();
    await log.close();
  }
}

/** Every line begins as it likes. */
const anything = Buffer.alloc(0);

async function lastLines(log: FileLog, end: string, { tailLines, sinceMs }: Options): Promise<string[]> {
  if (tailLines === 0) return [];
  const batches: string[][] = [];
  let count = 0;
  for await (const batch of log.backwards(anything, end, sinceMs)) {
    batches.unshift(batch.map((line) => line.text));
    count += batch.length;
    if (count >= tailLines) break;
  }
  const lines = batches.flat();
  const first = lines.findIndex((line) => (parseTime(timeOf(line)) ?? Number.NEGATIVE_INFINITY) >= sinceMs);
  const recent = sinceMs === Number.NEGATIVE_INFINITY ? lines : first < 0 ? [] : lines.slice(first);
  return Number.isFinite(tailLines) ? recent.slice(-tailLines) : recent;
}

async function* comingLines(log: FileLog, from: string, signal: AbortSignal): AsyncIterable<string> {
  let wake = () => {};
  const cancel = log.onGrowth(() => wake());
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort);
  try {
    for (let position = from; ; ) {
      // Armed before reading: what is printed meanwhile is not missed.
      const grown = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const over = signal.aborted;
      for await (const { lines, end } of log.forwards(anything, position)) {
        position = end ?? position;
        for (const line of lines) yield line.text;
      }
      if (over) return;
      if (!signal.aborted) await grown;
    }
  } finally {
    cancel();
    signal.removeEventListener("abort", onAbort);
  }
}

async function* limited(lines: AsyncIterable<string>, limit: number): AsyncIterable<string> {
  let left = limit;
  for await (const line of lines) {
    const bytes = Buffer.byteLength(line);
    yield bytes <= left ? line : Buffer.from(line).subarray(0, left).toString("utf8");
    left -= bytes;
    if (left <= 0) return;
  }
}

const timeOf = (line: string): string | undefined => RecordLine.read(line)[0]?.time;

function readOptions(pod: StoredObject, query: Query, now: number): Options {
  if (isTrue(query.previous)) throw badRequest("previous: the output of earlier starts is part of the log here");
  return {
    container: readContainer(pod, query.container ?? ""),
    follow: isTrue(query.follow),
    timestamps: isTrue(query.timestamps),
    tailLines: readNumber(query, "tailLines", 0),
    sinceMs: readSince(query, now),
    limitBytes: readNumber(query, "limitBytes", 1),
  };
}

const isTrue = (value: string | undefined): boolean => value === "true" || value === "1";

function readContainer(pod: StoredObject, asked: string): string {
  const containers = items(pod, "spec.containers");
  const names = [...containers, ...items(pod, "spec.initContainers")].map((container) => text(container, "name"));
  const [only, ...others] = names;
  if (asked === "" && only !== undefined && others.length === 0) return only;
  const { name } = pod.metadata;
  if (asked === "") {
    throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${names.join(" ")}]`);
  }
  if (!names.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${name}`);
  return asked;
}

function readNumber(query: Query, name: string, least: number): number {
  const value = query[name];
  if (value === undefined || value === "") return Number.POSITIVE_INFINITY;
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < least) {
    throw badRequest(`${name}: Invalid value: ${JSON.stringify(value)}: must be a whole number of at least ${least}`);
  }
  return number;
}

function readSince(query: Query, now: number): number {
  const { sinceTime, sinceSeconds } = query;
  if (sinceSeconds !== undefined && sinceSeconds !== "") {
    if (sinceTime) throw badRequest("at most one of sinceTime or sinceSeconds may be specified");
    return now - readNumber(query, "sinceSeconds", 1) * 1000;
  }
  if (sinceTime === undefined || sinceTime === "") return Number.NEGATIVE_INFINITY;
  const time = Date.parse(sinceTime);
  if (Number.isNaN(time)) throw badRequest(`sinceTime: Invalid value: ${JSON.stringify(sinceTime)}: is no time`);
  return time;
}
