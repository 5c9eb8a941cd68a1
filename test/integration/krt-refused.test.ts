import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { krtHere } from "./support/krt-in-process.ts";

/** What the server answers to everything, per test. */
let answer: { code: number; status: object } = { code: 500, status: {} };
let server: Server;
let url: string;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "krt-test-"));
  server = createServer((_, response) => {
    response.writeHead(answer.code, { "content-type": "application/json" });
    const { code, status } = answer;
    response.end(
      JSON.stringify({ apiVersion: "v1", kind: "Status", metadata: {}, status: "Failure", code, ...status }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true, force: true });
});

async function kubeconfig(to: string): Promise<string> {
  const file = join(directory, "kubeconfig");
  const named = { name: "x" };
  const text = stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "x",
    contexts: [{ ...named, context: { cluster: "x", user: "x", namespace: "team" } }],
    clusters: [{ ...named, cluster: { server: to } }],
    users: [{ ...named, user: { token: "old" } }],
  });
  await writeFile(file, text);
  return file;
}

const forbidden = (verb: string, resource: string) => ({
  code: 403,
  status: {
    reason: "Forbidden",
    message: `${resource}.kruntimes.io is forbidden: User "ann" cannot ${verb} resource "${resource}" in API group "kruntimes.io" in the namespace "team"`,
    details: { group: "kruntimes.io", kind: resource },
  },
});
const unauthorized = { code: 401, status: { reason: "Unauthorized", message: "Unauthorized" } };
const cases: Record<string, { args: string[]; answer: typeof answer; code: number; want: string }> = {
  "a login that has expired": {
    args: ["list"],
    answer: unauthorized,
    code: 5,
    want: "krt: the cluster at URL does not accept your login (401 Unauthorized)\n     The token or certificate of the kubeconfig has expired or is another cluster's: log in again.\n",
  },
  "a login that has expired, with several names, is told once": {
    args: ["cancel", "a"],
    answer: unauthorized,
    code: 5,
    want: "krt: the cluster at URL does not accept your login (401 Unauthorized)\n     The token or certificate of the kubeconfig has expired or is another cluster's: log in again.\n",
  },
  "a verb that is forbidden": {
    args: ["list"],
    answer: forbidden("list", "runs"),
    code: 5,
    want: "krt: you may not list runs in namespace team (403 Forbidden)\n     Ask its administrator for a role; `kubectl auth can-i list runs.kruntimes.io -n team` tells when you have it.\n",
  },
  "a Run that may not be created": {
    args: ["run", "--", "true"],
    answer: forbidden("create", "runs"),
    code: 5,
    want: "krt: you may not create runs in namespace team (403 Forbidden)\n     Ask its administrator for a role; `kubectl auth can-i create runs.kruntimes.io -n team` tells when you have it.\n",
  },
  "a workspace that may not be used": {
    args: ["run", "--", "true"],
    answer: {
      code: 403,
      status: {
        reason: "Forbidden",
        message:
          'admission webhook "run-in-workspace.kruntimes.io" denied the request: runs.kruntimes.io "a" is forbidden: user "ann" may not use PersistentWorkspace reports in namespace team; it takes the verb "use" on persistentworkspaces/use',
      },
    },
    code: 5,
    want: "krt: you may not run in workspace reports of namespace team (403 Forbidden)\n     Ask its administrator for the right to use it; `kubectl auth can-i use persistentworkspaces.kruntimes.io/reports --subresource=use -n team` tells when you have it.\n",
  },
  "logs that may not be read": {
    args: ["logs", "hello"],
    answer: {
      code: 403,
      status: {
        message:
          'runs "hello" is forbidden: User "ann" cannot get resource "runs/log" in API group "logs.kruntimes.io" in the namespace "team"',
      },
    },
    code: 5,
    want: "krt: you may not get runs/log in namespace team (403 Forbidden)\n     Ask its administrator for a role; `kubectl auth can-i get runs.logs.kruntimes.io --subresource=log -n team` tells when you have it.\n",
  },
  "a cluster without kruntimes": {
    args: ["list"],
    answer: {
      code: 404,
      status: { reason: "NotFound", message: "the server could not find the requested resource", details: {} },
    },
    code: 5,
    want: "krt: the cluster at URL does not know the kinds of kruntimes\n     Is kruntimes installed there? --context chooses another cluster.\n",
  },
  "a cluster that fails": {
    args: ["get", "hello"],
    answer: { code: 500, status: { reason: "InternalError", message: "etcd is away" } },
    code: 4,
    want: "krt: the cluster answered 500: etcd is away\n",
  },
};

test.each(Object.entries(cases))(
  "%s: one clear line, and the next step",
  async (_, { args, answer: given, code, want }) => {
    answer = given;
    const ended = await krtHere(await kubeconfig(url), args);
    expect(ended).toEqual({ code, out: "", err: want.replace("URL", url) });
  },
);

test("a cluster that is not there", async () => {
  const { code, out, err } = await krtHere(await kubeconfig("http://127.0.0.1:1"), ["list"]);
  expect({ code, out }).toEqual({ code: 4, out: "" });
  expect(err).toBe(
    "krt: the cluster at http://127.0.0.1:1 cannot be reached: nothing listens there\n" +
      "     Is it running? `krt local up` starts one on this machine, --context chooses another one.\n",
  );
});
