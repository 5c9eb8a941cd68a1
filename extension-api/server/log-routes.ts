import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock, Logger } from "#kube/ports.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { logsDiscovery, logsRoot, logsVersion } from "../logs/discovery.ts";
import { badRequest } from "../logs/errors.ts";
import { logRequest, streamType } from "../logs/route.ts";
import type { LogService } from "../logs/service.ts";
import { aggregatedDiscovery, aggregatedForm, aggregatedType, groupList } from "./discovery.ts";
import type { Api } from "./https-server.ts";
import { openApiV2, openApiV3, openApiV3Index, openApiV3Path } from "./openapi.ts";
import { sendStream } from "./send-stream.ts";

export interface LogRoutesDeps {
  readonly service: LogService;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborted when the process is to end: streams end with a word and a cursor. */
  readonly ending: AbortSignal;
  readonly sent: (records: number, bytes: number) => void;
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** The routes of the group, its discovery and its OpenAPI. */
export function addLogRoutes(api: Api, deps: LogRoutesDeps): void {
  api.get("/apis", (request, reply) => {
    const form = aggregatedForm(request.headers.accept);
    return form === undefined
      ? groupList
      : reply.type(aggregatedType(form)).send(JSON.stringify(aggregatedDiscovery(form)));
  });
  for (const [path, document] of Object.entries(logsDiscovery)) api.get(path, () => document);
  api.get("/openapi/v2", () => openApiV2);
  const hash = createHash("sha256").update(JSON.stringify(openApiV3)).digest("hex").slice(0, 32);
  api.get("/openapi/v3", () => openApiV3Index(hash));
  api.get(openApiV3Path, () => openApiV3);
  api.route({
    method: [...methods],
    url: `${logsRoot}/${logsVersion}/namespaces/:namespace/runs/:name/log`,
    handler: (request, reply) => log(request, reply, deps),
  });
}

async function log(request: FastifyRequest, reply: FastifyReply, deps: LogRoutesDeps): Promise<unknown> {
  const leaving = new AbortController();
  const { raw } = reply;
  raw.once("close", () => leaving.abort());
  const path = request.url.split("?")[0] ?? "";
  const asked = logRequest({
    method: request.method as (typeof methods)[number],
    path,
    query: single(request.query as Record<string, string | readonly string[]>),
    signal: leaving.signal,
  });
  const { namespace, name, query } = asked;
  deps.logger.debug("a log is read", { user: request.caller.user, run: `${namespace}/${name}`, follow: query.follow });
  if (!query.follow) return deps.service.snapshot(asked);

  const sendAway = () => leaving.abort(goingAway());
  if (deps.ending.aborted) throw goingAway();
  deps.ending.addEventListener("abort", sendAway, { once: true });
  try {
    const batches = await deps.service.follow(asked);
    reply.hijack();
    raw.writeHead(200, { "content-type": streamType, "cache-control": "no-store" });
    raw.flushHeaders();
    await sendStream(batches, raw, deps.clock, deps.sent);
  } catch (error) {
    if (!raw.headersSent) throw error;
    deps.logger.error("a log stream failed", { run: `${namespace}/${name}`, error });
    raw.destroy();
  } finally {
    deps.ending.removeEventListener("abort", sendAway);
  }
  return reply;
}

const goingAway = () =>
  new StatusError(
    failure(503, "ServiceUnavailable", "this replica of the log service ends; go on with the cursor"),
    1000,
  );

function single(query: Readonly<Record<string, string | readonly string[]>>): Record<string, string> {
  const twice = Object.keys(query).find((name) => typeof query[name] !== "string");
  if (twice !== undefined) throw badRequest(`${twice} is given twice`);
  return query as Record<string, string>;
}
