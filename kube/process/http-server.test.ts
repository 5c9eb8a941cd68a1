import { request as httpsRequest } from "node:https";
import { afterEach, expect, test } from "vitest";
import { silentLogger } from "#kube/silent-logger.ts";
import { type Certificate, makeCertificate } from "#kube/testing/certificates.ts";
import { type HttpServer, type Routes, type ServeOptions, serveHttp } from "./http-server.ts";

const servers: HttpServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(routes: Routes, options: Partial<ServeOptions> = {}): Promise<HttpServer> {
  const server = await serveHttp({ routes, logger: silentLogger, port: 0, host: "127.0.0.1", ...options });
  servers.push(server);
  return server;
}

const url = ({ port }: HttpServer, path: string) => `http://127.0.0.1:${port}${path}`;

test("a route answers its method and path, whatever the query", async () => {
  const server = await serve({ "GET /healthz": () => ({ status: 200, body: "ok" }) });
  const answer = await fetch(url(server, "/healthz?verbose"));
  expect([answer.status, await answer.text()]).toEqual([200, "ok"]);
});

test("an unknown path is told which there are", async () => {
  const server = await serve({ "GET /healthz": () => ({ status: 200, body: "ok" }) });
  const answer = await fetch(url(server, "/health"));
  expect([answer.status, await answer.text()]).toEqual([404, "not found; there are GET /healthz\n"]);
});

test("a route that fails answers 500 and says nothing of the inside", async () => {
  const server = await serve({
    "GET /bad": () => {
      throw new Error("secret");
    },
  });
  const answer = await fetch(url(server, "/bad"));
  expect(answer.status).toBe(500);
  expect(await answer.text()).not.toContain("secret");
});

test("a body is read whole up to its limit, and refused beyond", async () => {
  const routes: Routes = { "POST /echo": ({ body }) => ({ status: 200, body }) };
  const server = await serve(routes, { maxBodyBytes: 8 });
  const post = (body: string) => fetch(url(server, "/echo"), { method: "POST", body });
  expect(await (await post("größe")).text()).toBe("größe");
  const refused = await post("123456789");
  expect([refused.status, await refused.text()]).toEqual([413, "the request is larger than 8 bytes\n"]);
});

test("an answer under way is completed when the server closes", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let arrived = () => {};
  const here = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const server = await serve({
    "GET /slow": async () => {
      arrived();
      await held;
      return { status: 200, body: "late" };
    },
  });
  const answer = fetch(url(server, "/slow"), { headers: { connection: "close" } });
  await here;
  const closed = server.close();
  release();
  expect(await (await answer).text()).toBe("late");
  await closed;
});

/** The common name that the server shows. */
function subjectOf(port: number, authority: Certificate): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      { host: "127.0.0.1", port, path: "/healthz", ca: authority.cert, agent: false },
      (response) => {
        const { socket } = response as unknown as { socket: { getPeerCertificate(): { subject: { CN: string } } } };
        resolve(socket.getPeerCertificate().subject.CN);
        response.resume();
      },
    );
    request.once("error", reject);
    request.end();
  });
}

test("a new certificate is used for new connections", async () => {
  const authority = makeCertificate("authority");
  const first = makeCertificate("first", authority);
  const second = makeCertificate("second", authority);
  const server = await serve({ "GET /healthz": () => ({ status: 200, body: "ok" }) }, { tls: first });
  expect(await subjectOf(server.port, authority)).toBe("first");
  server.useKeyPair(second);
  expect(await subjectOf(server.port, authority)).toBe("second");
});

/** What a caller with that certificate gets: the status, or the error of the handshake. */
function answerTo(port: number, authority: Certificate, own?: Certificate): Promise<number | string> {
  const identity = own === undefined ? {} : { cert: own.cert, key: own.key };
  return new Promise((resolve) => {
    const request = httpsRequest(
      { host: "127.0.0.1", port, path: "/healthz", ca: authority.cert, agent: false, ...identity },
      (response) => {
        resolve(response.statusCode ?? 0);
        response.resume();
      },
    );
    request.once("error", (error) => resolve((error as { code?: string }).code ?? error.message));
    request.end();
  });
}

test("with an authority for callers only those with a certificate of it are answered, and it can be replaced", async () => {
  const authority = makeCertificate("authority");
  const [callers, others] = [makeCertificate("callers"), makeCertificate("others")];
  const own = makeCertificate("server", authority);
  const [caller, other] = [makeCertificate("api-server", callers), makeCertificate("api-server", others)];
  let answered = 0;
  const told: unknown[] = [];
  const server = await serve(
    { "GET /healthz": () => ({ status: 200, body: `${answered++}` }) },
    {
      tls: { ...own, clientCa: callers.cert },
      logger: { ...silentLogger, info: (message) => void told.push(message) },
    },
  );
  expect(await answerTo(server.port, authority, caller)).toBe(200);
  expect(await answerTo(server.port, authority)).toMatch(/^(ERR_SSL|ECONNRESET)/);
  expect(await answerTo(server.port, authority, other)).toMatch(/^(ERR_SSL|ECONNRESET)/);
  expect(answered).toBe(1);
  expect(told).toContain("a caller was turned away in the TLS handshake");
  server.useKeyPair({ ...own, clientCa: others.cert });
  expect(await answerTo(server.port, authority, other)).toBe(200);
  expect(await answerTo(server.port, authority, caller)).toMatch(/^(ERR_SSL|ECONNRESET)/);
  expect(answered).toBe(2);
});
