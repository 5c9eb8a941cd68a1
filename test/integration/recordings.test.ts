import { describe, expect, test } from "vitest";
import { systemClock, systemRandom } from "#kube/system.ts";
import { createApiServer } from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";
import { createFront } from "#local/http/front.ts";
import type { HttpAnswer, HttpHandler } from "#local/http/message.ts";
import type { Exchange } from "#local/http/recorder.ts";
import { clientLibraryModels } from "#local/openapi/model-files.ts";
import { createModels } from "#local/openapi/models.ts";
import { comparable, type Recording, readRecordings } from "#test/conformance/recording.ts";
import { Bindings, symbolsIn } from "#test/conformance/symbols.ts";

/** A server on which nothing else works. */
function newServer(): HttpHandler {
  return createFront({
    api: createApiServer({ crds: platformCrds(), clock: systemClock, random: systemRandom }),
    clock: systemClock,
    models: createModels(clientLibraryModels()),
    authorized: () => true,
    user: { username: "kubectl" },
  });
}

/** Protobuf bodies are recorded as the JSON that says the same. */
const sendable = (contentType: string | undefined) =>
  contentType === "application/vnd.kubernetes.protobuf" ? "application/json" : contentType;

async function send(server: HttpHandler, request: Exchange["request"], bindings: Bindings): Promise<HttpAnswer> {
  const leaving = new AbortController();
  const answer = await server({
    method: request.method,
    path: String(bindings.fill(request.path)),
    query: bindings.fill(request.query) as Record<string, string>,
    headers: { accept: request.accept, "content-type": sendable(request.contentType) },
    body: Buffer.from(request.body === undefined ? "" : JSON.stringify(bindings.fill(request.body))),
    signal: leaving.signal,
  });
  // Of a stream it counts that it is opened.
  if (typeof answer.body !== "string") leaving.abort();
  return answer;
}

const hint = "if the change is meant, run `npm run record` and look at what it changes";

const isWrite = ({ method }: Exchange["request"]) => method !== "GET";

/**
 * Differences of a replay, a line each.
 *
 * @param ordered whether reads saw what the requests before them had written. Those of components ran beside writes, so of
 *   them only the code counts, and what symbols stand for where no write tells it.
 */
async function replay(recordings: readonly Recording[], ordered: boolean): Promise<string[]> {
  const server = newServer();
  const writes = recordings.flatMap(({ exchanges }) => exchanges.filter(({ request }) => isWrite(request)));
  const bindings = new Bindings(new Set(symbolsIn(writes.map(({ answer }) => answer))));
  const found: string[] = [];
  for (const { scenario, exchanges } of recordings) {
    for (const { request, answer } of exchanges) {
      const actual = await send(server, request, bindings);
      const where = `${scenario}: ${request.method} ${request.path}`;
      if (actual.code !== answer.code) {
        found.push(`${where} is answered with ${actual.code}, not ${answer.code}: ${String(actual.body)}`);
      } else if (answer.body !== undefined) {
        const body = comparable(JSON.parse(String(actual.body)));
        if (!ordered && !isWrite(request)) bindings.bind(answer.body, body);
        else found.push(...bindings.differences(answer.body, body).map((line) => `${where}: ${line}`));
      }
    }
  }
  return found;
}

describe("the embedded API server answers as it was recorded", () => {
  const { "kubectl.jsonl": kubectl = [], "components.jsonl": components = [], ...others } = readRecordings();

  test("to kubectl", async () => {
    expect(kubectl.length).toBeGreaterThan(30);
    expect(await replay(kubectl, true), hint).toEqual([]);
  });

  test("to our components", async () => {
    expect(components.length).toBeGreaterThan(3);
    expect(await replay(components, false), hint).toEqual([]);
  });

  test("and every recording is replayed", () => {
    expect(Object.keys(others)).toEqual([]);
  });

  test.each([
    ["another code", (answer: Exchange["answer"]) => ({ ...answer, code: 418 }), "is answered with 201, not 418"],
    [
      "another field",
      ({ body, ...answer }: Exchange["answer"]) => ({ ...answer, body: { ...(body as object), extra: 1 } }),
      ".extra: undefined, not 1",
    ],
    [
      "a value for a symbol that is bound",
      ({ body, ...answer }: Exchange["answer"]) => ({
        ...answer,
        body: { ...(body as object), kind: "{name-9}", apiVersion: "{name-9}" },
      }),
      'not "{name-9}"',
    ],
  ])("unless it gives %s", async (_sentence, change, difference) => {
    const [first] = kubectl;
    const at = first?.exchanges.findIndex(({ request }) => request.method === "POST") ?? -1;
    const exchanges = first?.exchanges.map((one, index) =>
      index === at ? { ...one, answer: change(one.answer) } : one,
    );
    const found = await replay([{ scenario: "changed", exchanges: exchanges ?? [] }], true);
    expect(found).toEqual([expect.stringContaining(difference)]);
  });
});

test("recordings hold no secrets, no identities and no times", () => {
  const text = JSON.stringify(readRecordings());
  expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-/);
  expect(text).not.toMatch(/"20\d\d-\d\d-\d\dT/);
  expect(text).not.toMatch(/[Bb]earer|authorization":/);
  expect(text).toContain('"data":{"a":"c2VjcmV0"}');
});
