import { afterEach, beforeEach, expect, test } from "vitest";
import { configMaps } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import type { Client } from "#kube/resource.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock } from "#kube/system-clock.ts";
import { TinyApi } from "#kube/testing/tiny-api.ts";
import { parseRequestHeaders, type RequestHeaders, requestHeaderConfig } from "./request-header.ts";
import { watchRequestHeaders } from "./watched-config.ts";

const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;

/** As the API server writes it. */
const data = {
  "client-ca-file": pem("clients"),
  "requestheader-client-ca-file": pem("front"),
  "requestheader-allowed-names": '["front-proxy-client"]',
  "requestheader-username-headers": '["X-Remote-User"]',
  "requestheader-group-headers": '["X-Remote-Group"]',
  "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
};
const metadata = { ...requestHeaderConfig };

let client: Client;
let ending: AbortController;
let used: RequestHeaders[];
beforeEach(() => {
  client = createClient(memoryTransport(new TinyApi(), systemClock));
  ending = new AbortController();
  used = [];
});
afterEach(() => ending.abort());

const watch = () =>
  watchRequestHeaders(
    { client, clock: systemClock, random: seededRandom(1), logger: silentLogger },
    (headers) => used.push(headers),
    ending.signal,
  );

test("how the aggregation layer proves itself is read from its ConfigMap, and again at each change", async () => {
  await client.of(configMaps).create({ metadata, data });
  expect(await watch()).toEqual({
    ca: pem("front"),
    allowedNames: ["front-proxy-client"],
    username: ["x-remote-user"],
    group: ["x-remote-group"],
  });
  const change = (next: Record<string, string>) => client.of(configMaps).patch(metadata, { data: next });
  await change({ "requestheader-client-ca-file": pem("front") + pem("next") });
  await expect.poll(() => used.map(({ ca }) => ca)).toEqual([pem("front") + pem("next")]);
  await change({ "requestheader-allowed-names": "[]" });
  await expect.poll(() => used.at(-1)?.allowedNames).toEqual([]);

  // What concerns somebody else, or cannot be used, changes nothing.
  await change({ "client-ca-file": pem("other") });
  await change({ "requestheader-client-ca-file": "" });
  await change({ "requestheader-client-ca-file": pem("last") });
  await expect.poll(() => used.at(-1)?.ca).toBe(pem("last"));
  expect(used).toHaveLength(3);
});

test("without the ConfigMap there is nobody to believe, and the service does not start", async () => {
  await expect(watch()).rejects.toThrow("there is no ConfigMap kube-system/extension-apiserver-authentication");
});

const faults: Record<string, { change: Record<string, string>; says: string }> = {
  "no authority": { change: { "requestheader-client-ca-file": "" }, says: "runs without an aggregation layer" },
  "no header for the user": { change: { "requestheader-username-headers": "[]" }, says: "no header names the caller" },
  "a list that is none": {
    change: { "requestheader-allowed-names": "front" },
    says: "requestheader-allowed-names is no JSON list",
  },
  "a list of numbers": {
    change: { "requestheader-group-headers": "[1]" },
    says: "requestheader-group-headers is no JSON list",
  },
};

test.each(Object.entries(faults))("a ConfigMap with %s is refused, and the member named", (_, { change, says }) => {
  expect(() => parseRequestHeaders({ metadata, data: { ...data, ...change } })).toThrow(says);
});
