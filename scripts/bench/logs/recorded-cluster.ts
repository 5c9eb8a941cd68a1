/**
 * A process that stands for API server and node of one Pod: it hands out a recording as fast as it is taken. `fork` it and
 * send it {@link RecordedTask}s.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { namespace, type RecordedTask, runName } from "./recorded-names.ts";
import { pieces, recording } from "./recording.ts";

const uid = "8d7b9a54-3f0e-4a57-9b36-5c5f4ef0c2a1";
const otherUid = "0e7c3a52-91d2-4c53-8f0a-1b1f4d4f7a10";
const podUid = "5b1d3f6a-0c4e-4a53-8c7e-2f9a6f1e7d40";

let task: RecordedTask | undefined;
let log = Buffer.alloc(0);
let phase: "Running" | "Succeeded" = "Running";
const watchers = new Set<ServerResponse>();

const run = () => ({
  apiVersion: "kruntimes.io/v1alpha1",
  kind: "Run",
  metadata: {
    name: runName,
    namespace,
    uid,
    resourceVersion: phase === "Running" ? "1" : "2",
    creationTimestamp: "2026-01-01T00:00:00Z",
  },
  spec: { runtime: "bash" },
  status: {
    phase,
    attempt: 1,
    assignedPod: "p1",
    assignedPodUID: podUid,
    ...(phase === "Succeeded" && { completionTime: new Date().toISOString() }),
  },
});

const configMap = () => ({
  metadata: { name: "extension-apiserver-authentication", namespace: "kube-system", uid: "c1", resourceVersion: "1" },
  data: {
    "requestheader-client-ca-file": task?.ca ?? "",
    "requestheader-allowed-names": "[]",
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
  },
});

/** The whole log, then silence. The Run ends when all of it was handed over. */
async function send(response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/plain" });
  response.flushHeaders();
  for (const piece of pieces(log)) if (!response.write(piece) && !response.destroyed) await once(response, "drain");
  phase = "Succeeded";
  for (const watcher of watchers) watcher.write(`${JSON.stringify({ type: "MODIFIED", object: run() })}\n`);
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "", "http://cluster");
  const answer = (object: object, code = 200) => {
    response.writeHead(code, { "content-type": "application/json" });
    response.end(JSON.stringify(object));
  };
  const kind = url.pathname.split("/").at(-1);
  if (url.searchParams.get("watch") !== null) {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    if (kind === "runs") watchers.add(response.on("close", () => watchers.delete(response)));
  } else if (kind === "configmaps")
    answer({ kind: "ConfigMapList", metadata: { resourceVersion: "1" }, items: [configMap()] });
  else if (kind === "runs") answer({ kind: "RunList", metadata: { resourceVersion: "1" }, items: [run()] });
  else if (kind === runName) answer(run());
  else if (kind === "p1") answer({ metadata: { name: "p1", namespace, uid: podUid }, spec: { containers: [] } });
  else if (kind !== "log") answer({ kind: "Status", code: 404, reason: "NotFound", message: url.pathname }, 404);
  else if (url.searchParams.get("follow") === "true") void send(response);
  else response.writeHead(200, { "content-type": "text/plain" }).end();
});

process.on("message", (next: RecordedTask) => {
  task = next;
  phase = "Running";
  const parts = next.own
    ? [recording(uid, next.messageBytes, next.printed, Date.now(), true)]
    : [
        recording(otherUid, next.messageBytes, next.printed, Date.now(), false),
        recording(uid, 1, 1, Date.now() + 3_600_000, true),
      ];
  log = Buffer.concat(parts.map(({ bytes }) => bytes));
  process.send?.({ logBytes: log.length });
});
process.on("disconnect", () => process.exit(0));

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.({ port: typeof address === "object" ? address?.port : undefined });
});
