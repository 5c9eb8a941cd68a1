import { expect, test } from "vitest";
import { parseFlags } from "./flags.ts";

const env = { POD_NAME: "p", POD_UID: "u", POD_NAMESPACE: "n" };
const flags = {
  runtime: "bash",
  "runtime-uid": "r",
  socket: "/socket/executor.sock",
  "workspace-root": "/workspace",
  capacity: '{"runs":2}',
  "cluster-uid": "c",
};

const parse = (change: Record<string, string | undefined> = {}, environment = env) => {
  const given = Object.entries({ ...flags, ...change }).filter(([, value]) => value !== undefined);
  return parseFlags(
    given.map(([name, value]) => `--${name}=${value}`),
    environment,
  );
};

test("what the pool writes into a Pod template is understood", () => {
  expect(parse({ "drain-timeout": "90s", "artifact-root": "/artifacts", "artifact-claim": "store" })).toMatchObject({
    self: { pod: "p", podUid: "u", namespace: "n", runtime: "bash", capacity: { runs: 2 } },
    socket: "/socket/executor.sock",
    workspaceRoot: "/workspace",
    drainMs: 90_000,
    clusterUid: "c",
    artifactRoot: "/artifacts",
    artifactClaim: "store",
  });
  expect(parse().drainMs).toBe(300_000);
});

const wrong: Record<string, { change: Record<string, string | undefined>; says: string }> = {
  "a missing flag": { change: { socket: undefined }, says: "--socket is missing" },
  "an unknown flag": { change: { sokcet: "x" }, says: "--socket" },
  "a drain timeout that is none": { change: { "drain-timeout": "soon" }, says: "write for example 5m" },
  "a capacity that is no JSON": { change: { capacity: "2" }, says: 'write for example {"runs":2}' },
  "a capacity of halves": { change: { capacity: '{"runs":0.5}' }, says: 'write for example {"runs":2}' },
};

test.each(Object.entries(wrong))("%s is refused with advice", (_, { change, says }) => {
  expect(() => parse(change)).toThrow(says);
});

test("a Pod that does not know itself is refused", () => {
  expect(() => parse({}, { ...env, POD_UID: "" })).toThrow("environment variable POD_UID is missing");
});
