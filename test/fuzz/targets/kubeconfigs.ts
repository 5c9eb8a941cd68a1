import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readPlainKubeconfig } from "#cli/system/plain-kubeconfig.ts";
import { loadClusterAccess } from "#kube/kubeconfig.ts";
import { mutatedText } from "../mutate.ts";
import { defineTarget } from "../target.ts";

const kubeconfig = (cluster: string, user: string) => `apiVersion: v1
kind: Config
current-context: dev
contexts:
  - name: dev
    context: { cluster: c, user: u, namespace: team }
clusters:
  - name: c
    cluster:
      server: https://127.0.0.1:6443
${cluster}
users:
  - name: u
    user:
${user}
`;
const examples = [
  kubeconfig("      certificate-authority-data: LS0tQQ==", "      token: secret"),
  kubeconfig(
    "      insecure-skip-tls-verify: true",
    "      client-certificate-data: QQ==\n      client-key-data: Qg==",
  ),
  kubeconfig("      tls-server-name: api", "      username: a\n      password: b"),
];
const tokens = [
  "null",
  "[]",
  "{}",
  "''",
  "name: ",
  "server: ",
  "token: ",
  "- ",
  ": ",
  "\n",
  "u",
  "proxy-url: http://p\n",
  "&a ",
  "*a",
  "~",
  "5",
];

type Load = typeof loadClusterAccess;

export const kubeconfigs = (load: Load = loadClusterAccess) =>
  defineTarget({
    name: "kubeconfigs",
    holds:
      "any kubeconfig gives a cluster to talk to or an error that says what is wrong with it; the quick reader agrees with the library",
    sliceRuns: 120,
    outcomes: ["a cluster", "refused"],
    inputs: mutatedText(examples, tokens),
    async check(text) {
      const directory = mkdtempSync(join(tmpdir(), "kubeconfig-"));
      const file = join(directory, "config");
      try {
        writeFileSync(file, text);
        const whole = orError(() => load({ file }));
        const plain = readPlainKubeconfig(file, undefined);
        if (whole instanceof Error) {
          // Errors of JavaScript itself tell nobody what to correct in the file.
          assert(!(whole instanceof TypeError || whole instanceof RangeError), whole.stack);
          assert.notEqual(whole.message, "");
          // The two readers of YAML are different ones; what both can read must mean the same.
          const isNoYaml = whole.name === "YAMLException";
          assert(plain === undefined || isNoYaml, `the quick reader leaves mistakes to the library: ${whole.message}`);
          return "refused";
        }
        assert.equal(typeof whole.server, "string");
        assert.equal(typeof whole.namespace, "string");
        if (plain === undefined) return "a cluster";
        assert.deepEqual([plain.server, plain.namespace], [whole.server, whole.namespace]);
        return "a cluster";
      } finally {
        rmSync(directory, { recursive: true });
      }
    },
  });

function orError<T>(load: () => T): T | Error {
  try {
    return load();
  } catch (error) {
    assert(error instanceof Error);
    return error;
  }
}
