import type { ApiHandler } from "#kube/memory.ts";
import { type ApiRequest, failure, StatusError } from "#kube/transport.ts";
import { logsDiscovery, logsRoot, logsVersion } from "./discovery.ts";
import { badRequest } from "./errors.ts";
import type { LogItem } from "./items.ts";
import { parseLogQuery } from "./query.ts";
import type { LogRequest, LogService } from "./service.ts";

export { logsRoot };

/** Where the log of a Run is. */
export const logPath = (namespace: string, name: string) =>
  `${logsRoot}/${logsVersion}/namespaces/${encodeURIComponent(namespace)}/runs/${encodeURIComponent(name)}/log`;

const form = new RegExp(`^${logsRoot}/${logsVersion}/namespaces/([^/]+)/runs/([^/]+)/log$`);

/** Media type of a stream: one JSON value a line. */
export const streamType = "application/x-ndjson";

export interface LogRoute extends ApiHandler {
  /** What {@link ApiHandler.watch} gives, as JSON texts of one line each: nothing is made of them that has to be written again. */
  lines(request: ApiRequest): Promise<AsyncIterable<readonly string[]>>;
}

/** Serves everything below {@link logsRoot}. */
export function createLogRoute(service: LogService): LogRoute {
  return {
    async handle(request) {
      const known = logsDiscovery[request.path.replace(/\/$/, "")];
      if (known !== undefined && request.method === "GET") return known;
      const log = logRequest(request);
      if (log.query.follow) throw badRequest("a log that is followed has to be asked for as a stream");
      return service.snapshot(log);
    },
    async watch(request) {
      return items(await service.follow(logRequest(request)));
    },
    lines: (request) => service.follow(logRequest(request)),
  };
}

async function* items(batches: AsyncIterable<readonly string[]>): AsyncGenerator<LogItem> {
  for await (const batch of batches) for (const line of batch) yield JSON.parse(line) as LogItem;
}

/** @throws StatusError 404, 405 or 400 for what is no request for a log. */
export function logRequest({ method, path, query = {}, signal }: ApiRequest): LogRequest {
  const [, namespace, name] = form.exec(path) ?? [];
  if (namespace === undefined || name === undefined) {
    throw new StatusError(
      failure(
        404,
        "NotFound",
        `there is no ${path}; a log is at ${logPath("NAMESPACE", "RUN")}`.replaceAll("%20", " "),
      ),
    );
  }
  if (method !== "GET") throw new StatusError(failure(405, "MethodNotAllowed", `a log takes GET, not ${method}`));
  return {
    namespace: decode(namespace),
    name: decode(name),
    query: parseLogQuery(query),
    signal: signal ?? new AbortController().signal,
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new StatusError(failure(400, "BadRequest", `the path segment ${JSON.stringify(part)} is not valid`));
  }
}
