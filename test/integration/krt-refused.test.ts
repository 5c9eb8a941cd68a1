import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { krtHere } from "./support/krt-in-process.ts";

/** What the server answers to everything, per test: a Status, or the text of who is between. */
let answer: { code: number; status: object | string } = { code: 500, status: {} };
let server: Server;
let url: string;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "krt-test-"));
  server = createServer((_, response) => {
    const { code, status } = answer;
    response.writeHead(code, { "content-type": typeof status === "string" ? "text/plain" : "application/json" });
    if (typeof status === "string") {
      response.end(status);
      return;
    }
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
          'runs.logs.kruntimes.io "hello" is forbidden: User "ann" cannot get resource "runs/log" in API group "logs.kruntimes.io" in the namespace "team"',
      },
    },
    code: 5,
    want: "krt: you may not get runs/log in namespace team (403 Forbidden)\n     Ask its administrator for a role; `kubectl auth can-i get runs.logs.kruntimes.io/hello --subresource=log -n team` tells when you have it.\n",
  },
  "a log while no replica of its service works": {
    args: ["logs", "hello"],
    answer: {
      code: 503,
      status: "error trying to reach service: dial tcp 10.96.4.7:443: connect: connection refused\n",
    },
    code: 4,
    want: "krt: the log service of the cluster does not answer: GET /apis/logs.kruntimes.io/v1alpha1/namespaces/team/runs/hello/log: 503 ServiceUnavailable: error trying to reach service: dial tcp 10.96.4.7:443: connect: connection refused\n     `kubectl get apiservice v1alpha1.logs.kruntimes.io` tells why; its Pods are those of `kubectl get pods -A -l app.kubernetes.io/component=run-extension-api`.\n",
  },
  "a log that the node does not hand out": {
    args: ["logs", "-f", "hello"],
    answer: {
      code: 503,
      status: {
        reason: "ServiceUnavailable",
        message: "the log of Pod bash-1 cannot be read now: dial tcp 10.0.0.7:10250: connect: no route to host",
      },
    },
    code: 4,
    want: "krt: the log of Run hello cannot be read now: the node of Pod bash-1 does not hand it out: dial tcp 10.0.0.7:10250: connect: no route to host\n     `kubectl get pod bash-1 -n team -o wide` and `kubectl get nodes` tell whether they are there; the log is there again when they are.\n",
  },
  "a log that went with its Pod": {
    args: ["logs", "hello"],
    answer: {
      code: 409,
      status: { reason: "Conflict", message: "Pod bash-1 does not exist any more, and its log went with it" },
    },
    code: 5,
    want: "krt: the log of Run hello is gone with its Pod bash-1: nothing brings it back\n     `krt describe hello -n team` tells how the Run ended. What has to outlive a Pod belongs into an artifact.\n",
  },
  "a log whose next records are removed": {
    args: ["logs", "hello"],
    answer: {
      code: 410,
      status: { reason: "Expired", message: "the log of Pod bash-1 does not go back to the cursor any more" },
    },
    code: 5,
    want: "krt: the node has removed what comes next in the log of Run hello\n     `krt logs hello -n team` shows what is left, and how many records are missing.\n",
  },
  "a log with too many readers": {
    args: ["logs", "hello"],
    answer: {
      code: 429,
      status: { reason: "TooManyRequests", message: "64 log snapshots are open already; try again in a moment" },
    },
    code: 4,
    want: "krt: the log service has as many readers as it takes: 64 log snapshots are open already; try again in a moment\n     Try again in a moment; more replicas (runExtensionAPI.replicas of the chart) take more readers.\n",
  },
  "a log in a cluster without the log API": {
    args: ["logs", "hello"],
    answer: {
      code: 404,
      status: { reason: "NotFound", message: "the server could not find the requested resource", details: {} },
    },
    code: 5,
    want: "krt: the cluster has no log API\n     Is kruntimes installed there, with runExtensionAPI.enabled=true? `kubectl get apiservice v1alpha1.logs.kruntimes.io` tells; --context chooses another cluster.\n",
  },
  "a log of a Run that is deleted": {
    args: ["logs", "hello"],
    answer: { code: 404, status: { reason: "NotFound", message: "Run hello was deleted" } },
    code: 5,
    want: "krt: Run hello was deleted\n     What is deleted has no log.\n",
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
