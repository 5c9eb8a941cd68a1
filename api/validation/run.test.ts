import { expect, test } from "vitest";
import type { Run, RunSpec } from "../kinds/run.ts";
import { validateCreate, validateUpdate } from "./index.ts";

const run = (spec: Partial<RunSpec>): Run => ({
  metadata: { name: "a" },
  spec: { runtime: "bash", source: { inline: "true" }, ...spec },
});

const ref = {
  name: "a",
  driver: "Filesystem",
  type: "File",
  location: { filesystem: { path: "runs/u/artifacts/a" } },
  sizeBytes: 1,
  digest: `sha256:${"0".repeat(64)}`,
} as const;
const inputs = (...paths: string[]) => ({ artifactInputs: paths.map((path) => ({ ref, path })) });

type Selector = NonNullable<
  NonNullable<NonNullable<RunSpec["affinity"]>["runAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]
>[number]["labelSelector"];
const near = (labelSelector: Selector): Partial<RunSpec> => ({
  affinity: {
    runAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector, topologyKey: "kruntimes.io/runtime-pod" }],
    },
  },
});
const avoid = (labelSelector: Selector): Partial<RunSpec> => ({
  affinity: {
    runAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, runAffinityTerm: { labelSelector, topologyKey: "kruntimes.io/runtime-pod" } },
      ],
    },
  },
});
const selector = "spec.affinity.runAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector";

/** Paths that are refused; an empty list means that the Run is fine. */
const cases: Record<string, { spec: Partial<RunSpec>; refused: string[] }> = {
  "a plain script": { spec: {}, refused: [] },
  "ordinary variables": {
    spec: {
      env: [
        { name: "A", value: "1" },
        { name: "HOMEPAGE", value: "x" },
      ],
    },
    refused: [],
  },
  "a variable of ours": { spec: { env: [{ name: "A" }, { name: "KRUNTIME_X" }] }, refused: ["spec.env[1].name"] },
  "HOME and TMPDIR are inside the workspace": {
    spec: { env: [{ name: "HOME" }, { name: "TMPDIR" }] },
    refused: ["spec.env[0].name", "spec.env[1].name"],
  },
  "whole amounts": { spec: { resources: { requests: { runs: 2, gpu: "1", "example.com/gpu": 1 } } }, refused: [] },
  "half a place": { spec: { resources: { requests: { gpu: "500m" } } }, refused: ["spec.resources.requests.gpu"] },
  "a negative amount": { spec: { resources: { requests: { gpu: -1 } } }, refused: ["spec.resources.requests.gpu"] },
  "no place at all": { spec: { resources: { requests: { runs: 0 } } }, refused: ["spec.resources.requests.runs"] },
  "a resource without a name": {
    spec: { resources: { requests: { "a b": 1 } } },
    refused: ["spec.resources.requests[a b]"],
  },
  "a timeout": { spec: { timeout: "1h30m" }, refused: [] },
  "a timeout of nothing": { spec: { timeout: "0s" }, refused: ["spec.timeout"] },
  "a timeout of decades": { spec: { timeout: "900000h" }, refused: ["spec.timeout"] },
  "a timeout without unit": { spec: { timeout: "90" }, refused: ["spec.timeout"] },
  "no delay between attempts": { spec: { retryPolicy: { maxAttempts: 2, backoff: "0s" } }, refused: [] },
  "a first delay beyond the longest one": {
    spec: { retryPolicy: { maxAttempts: 2, backoff: "2m" } },
    refused: ["spec.retryPolicy.backoff"],
  },
  "inputs beside each other": { spec: inputs("a", "b/c", "b/d", "ab"), refused: [] },
  "two inputs at one place": { spec: inputs("a", "a"), refused: ["spec.artifactInputs[1].path"] },
  "an input below another": { spec: inputs("a", "a/b"), refused: ["spec.artifactInputs[1].path"] },
  "an input above another": { spec: inputs("a/b", "c", "a"), refused: ["spec.artifactInputs[2].path"] },
  "an input in our directory": { spec: inputs(".kruntimes/x"), refused: ["spec.artifactInputs[0].path"] },
  "our directory further down": { spec: inputs("x/.kruntimes"), refused: ["spec.artifactInputs[0].path"] },
  "our directory in other letters": { spec: inputs(".KRuntimes/x"), refused: ["spec.artifactInputs[0].path"] },
  "an input that climbs": { spec: inputs("a/../../b"), refused: ["spec.artifactInputs[0].path"] },
  "an absolute input": { spec: inputs("/etc/passwd"), refused: ["spec.artifactInputs[0].path"] },
  "an input with a newline": { spec: inputs("a\nb"), refused: ["spec.artifactInputs[0].path"] },
  "a name beyond 255 bytes": { spec: inputs("é".repeat(128)), refused: ["spec.artifactInputs[0].path"] },
  "hidden files are fine": { spec: inputs(".cache/x", "..data", "a..b"), refused: [] },
  "an entrypoint in our directory": {
    spec: { source: { repoURL: "https://example.com/r" }, mode: { task: { entrypoint: ".kruntimes/x" } } },
    refused: ["spec.mode.task.entrypoint"],
  },
  "repositories over https and ssh": {
    spec: { source: { repoURL: "https://git.example.com/a/b.git", commitSHA: "feature/x@2" } },
    refused: [],
  },
  "a repository with a user": {
    spec: { source: { repoURL: "ssh://git@example.com:22/a", credentialsSecretName: "key" } },
    refused: [],
  },
  "a repository as scp names it": {
    spec: { source: { repoURL: "git@example.com:a/b.git", credentialsSecretName: "key" } },
    refused: [],
  },
  "a repository over ssh without a key": {
    spec: { source: { repoURL: "ssh://git@example.com/a" } },
    refused: ["spec.source.credentialsSecretName"],
  },
  "a repository as scp names it without a key": {
    spec: { source: { repoURL: "git@example.com:a/b.git" } },
    refused: ["spec.source.credentialsSecretName"],
  },
  "a private repository over https": {
    spec: { source: { repoURL: "https://example.com/a", credentialsSecretName: "token" } },
    refused: [],
  },
  "variables from Secrets and ConfigMaps": {
    spec: {
      env: [
        { name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
        { name: "B", valueFrom: { configMapKeyRef: { name: "c", key: "k", optional: true } } },
      ],
    },
    refused: [],
  },
  "a token in the address": {
    spec: { source: { repoURL: "https://ghp_token@example.com/a" } },
    refused: ["spec.source.repoURL"],
  },
  "a password in the address": {
    spec: { source: { repoURL: "https://me:secret@example.com/a" } },
    refused: ["spec.source.repoURL"],
  },
  "a repository without encryption": {
    spec: { source: { repoURL: "http://example.com/a" } },
    refused: ["spec.source.repoURL"],
  },
  "a file of the Pod": { spec: { source: { repoURL: "file:///etc" } }, refused: ["spec.source.repoURL"] },
  "a helper program as address": { spec: { source: { repoURL: "ext::sh -c id" } }, refused: ["spec.source.repoURL"] },
  "an option as address": { spec: { source: { repoURL: "--upload-pack=id" } }, refused: ["spec.source.repoURL"] },
  "an option as commit": {
    spec: { source: { repoURL: "https://example.com/a", commitSHA: "--output=x" } },
    refused: ["spec.source.commitSHA"],
  },
  "a range as commit": {
    spec: { source: { repoURL: "https://example.com/a", commitSHA: "a..b" } },
    refused: ["spec.source.commitSHA"],
  },
  "a refspec as commit": {
    spec: { source: { repoURL: "https://example.com/a", commitSHA: "a:b" } },
    refused: ["spec.source.commitSHA"],
  },
  "a selector": { spec: near({ matchLabels: { app: "a" } }), refused: [] },
  "an empty selector": { spec: near({}), refused: [selector] },
  "an empty selector with empty members": {
    spec: near({ matchLabels: {}, matchExpressions: [] }),
    refused: [selector],
  },
  "an empty preference": {
    spec: avoid({}),
    refused: [
      "spec.affinity.runAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].runAffinityTerm.labelSelector",
    ],
  },
  "In without values": {
    spec: near({ matchExpressions: [{ key: "a", operator: "In" }] }),
    refused: [`${selector}.matchExpressions[0].values`],
  },
  "Exists with values": {
    spec: near({ matchExpressions: [{ key: "a", operator: "Exists", values: ["x"] }] }),
    refused: [`${selector}.matchExpressions[0].values`],
  },
  "a key that no label has": {
    spec: near({ matchExpressions: [{ key: "a b", operator: "Exists" }] }),
    refused: [`${selector}.matchExpressions[0].key`],
  },
  "a value that no label has": {
    spec: near({ matchLabels: { app: "a b" } }),
    refused: [`${selector}.matchLabels[app]`],
  },
  "a mode that is not built": { spec: { mode: { session: {} } }, refused: ["spec.mode.session"] },
  "a spec beyond 512 KiB": {
    spec: { env: Array.from({ length: 20 }, (_, index) => ({ name: `V${index}`, value: "x".repeat(30_000) })) },
    refused: ["spec"],
  },
};

test("a spec that is nested beyond all reason is refused before anything walks through it", () => {
  let value: unknown = 1;
  for (let level = 0; level < 100_000; level++) value = level % 2 === 0 ? [value] : { a: value };
  const deep = { ...run({}), spec: { ...run({}).spec, affinity: value } } as Run;
  const refused = [{ path: "spec", message: expect.stringContaining("stand in each other") }];
  expect(validateCreate("Run", deep)).toMatchObject(refused);
  expect(validateUpdate("Run", run({}), deep)).toMatchObject(refused);
});

test.each(Object.entries(cases))("%s", (_, { spec, refused }) => {
  const errors = validateCreate("Run", run(spec));
  expect(errors.map((error) => error.path)).toEqual(refused);
  for (const error of errors) {
    expect(error.message).toMatch(/[^.]$/);
    expect(error.advice).toMatch(/^[A-Z].*\.$/s);
  }
});

test("a Run from before a rule can still be cancelled, and cannot be made worse", () => {
  const old = run({ env: [{ name: "HOME", value: "/x" }] });
  const cancelled = { ...old, spec: { ...old.spec, termination: { mode: "Immediate" as const } } };
  expect(validateUpdate("Run", old, cancelled)).toEqual([]);
  const drained = { ...old, spec: { ...old.spec, termination: { mode: "Drain" as const } } };
  expect(validateUpdate("Run", old, drained).map((error) => error.path)).toEqual(["spec.termination.mode"]);
  expect(validateUpdate("Run", old, { ...old, metadata: { name: "a", finalizers: [] } })).toEqual([]);
});
