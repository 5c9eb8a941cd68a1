import { expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { ArtifactStoreSpec } from "#api/kinds/runtime.ts";
import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { checkStores, resolveArtifacts, type StoreOwner, storeMismatch, unreadable } from "./artifacts.ts";
import type { JobPlan, StepPlan } from "./plan.ts";

const ref = (name: string, run = "r1"): ArtifactRef => ({
  name,
  driver: "Filesystem",
  type: "File",
  location: { filesystem: { path: `runs/${run}/artifacts/${name}` } },
  sizeBytes: 1,
  digest: `sha256:${"0".repeat(64)}`,
});

const job = (id: string, runsOn: string, artifacts: StepPlan["artifacts"][] = []): JobPlan => ({
  id,
  path: `spec.jobs.${id}`,
  needs: [],
  ancestors: [],
  dependents: [],
  env: new Map(),
  outputs: new Map(),
  continueOnError: false,
  work: {
    kind: "steps",
    runsOn: { text: runsOn, expressions: [] },
    steps: artifacts.map((each, index) => ({
      name: `s${index}`,
      index,
      path: `spec.jobs.${id}.steps[${index}]`,
      env: new Map(),
      continueOnError: false,
      artifacts: each,
      work: { kind: "run", run: { text: "true", expressions: [] } },
    })),
  },
});

const consumer = job("deploy", "bash", [
  [],
  [
    { job: "build", name: "dist.tgz", path: "in/dist.tgz" },
    { job: "build", name: "site", path: "site" },
  ],
  [{ job: "build", name: "dist.tgz", path: "again" }],
]);

test("all artifacts of all steps are resolved before the first Run", () => {
  const jobs: Record<string, JobStatus> = {
    build: { phase: "Succeeded", artifacts: { "dist.tgz": ref("dist.tgz"), site: ref("site") } },
  };
  expect(resolveArtifacts(consumer, jobs)).toEqual({
    ok: true,
    inputs: new Map([
      [
        "s1",
        [
          { ref: ref("dist.tgz"), path: "in/dist.tgz" },
          { ref: ref("site"), path: "site" },
        ],
      ],
      ["s2", [{ ref: ref("dist.tgz"), path: "again" }]],
    ]),
  });
});

const missing: Record<string, { jobs: Record<string, JobStatus> | undefined; want: RegExp }> = {
  "the message lists what there is": {
    jobs: { build: { phase: "Succeeded", artifacts: { z: ref("z"), "dist.tgz": ref("dist.tgz") } } },
    want: /^step "s1" takes artifact "site" of job "build", which has dist\.tgz and z$/,
  },
  "a producer without artifacts has none": {
    jobs: { build: { phase: "Succeeded" } },
    want: /takes artifact "dist\.tgz" of job "build", which has none$/,
  },
  "a member of every object is no artifact": {
    jobs: { build: { phase: "Succeeded", artifacts: Object.create({ "dist.tgz": ref("dist.tgz") }) } },
    want: /which has none$/,
  },
  "a producer that failed has none for others": {
    jobs: { build: { phase: "Failed", artifacts: { "dist.tgz": ref("dist.tgz"), site: ref("site") } } },
    want: /which did not succeed \(Failed\)$/,
  },
  "a producer that nobody has seen has none": { jobs: undefined, want: /which did not succeed \(Waiting\)$/ },
};

test.each(Object.entries(missing))("missing artifact: %s", (_, { jobs, want }) => {
  expect(resolveArtifacts(consumer, jobs)).toEqual({
    ok: false,
    reason: "ArtifactMissing",
    message: expect.stringMatching(want),
  });
});

const claim = (volumeClaimName: string): ArtifactStoreSpec => ({
  driver: "Filesystem",
  filesystem: { volumeClaimName },
});
const bucket = (name: string, more: object = {}): ArtifactStoreSpec => ({
  driver: "S3",
  s3: { bucket: name, ...more },
});
const runtime = (name: string, artifactStore?: ArtifactStoreSpec): StoreOwner => ({
  name,
  spec: artifactStore === undefined ? {} : { artifactStore },
});

const stores: Record<string, { from?: ArtifactStoreSpec; to?: ArtifactStoreSpec; want: RegExp | undefined }> = {
  "one claim": { from: claim("a"), to: claim("a"), want: undefined },
  "two claims": { from: claim("a"), to: claim("b"), want: /different places: claim a and claim b/ },
  "one bucket": { from: bucket("a"), to: bucket("a"), want: undefined },
  "one bucket with other credentials, region and parts": {
    from: bucket("a", { credentialsSecretName: "x", region: "r", forcePathStyle: true }),
    to: bucket("a", { credentialsSecretName: "y", uploadConcurrency: 3 }),
    want: undefined,
  },
  "one prefix with and without slashes": {
    from: bucket("a", { prefix: "p/" }),
    to: bucket("a", { prefix: "/p" }),
    want: undefined,
  },
  "two buckets": { from: bucket("a"), to: bucket("b"), want: /bucket a and bucket b/ },
  "two prefixes": { from: bucket("a", { prefix: "p" }), to: bucket("a"), want: /bucket a below p and bucket a/ },
  "two servers": {
    from: bucket("a", { endpoint: "https://one/" }),
    to: bucket("a", { endpoint: "https://two" }),
    want: /at https:\/\/one and bucket a at https:\/\/two/,
  },
  "two drivers": { from: claim("a"), to: bucket("a"), want: /claim a and bucket a/ },
  "a producer without a store": { to: claim("a"), want: /^Runtime "one" has no artifactStore/ },
  "a consumer without a store": { from: claim("a"), want: /^Runtime "two" has no artifactStore/ },
};

test.each(Object.entries(stores))("stores: %s", (_, { from, to, want }) => {
  const message = storeMismatch(runtime("one", from), runtime("two", to));
  expect(message).toEqual(want === undefined ? undefined : expect.stringMatching(want));
});

const digest = `sha256:${"0".repeat(64)}`;
const stored = (driver: "Filesystem" | "S3", location: ArtifactRef["location"]): ArtifactRef => ({
  ...{ name: "a", driver, type: "File", location, sizeBytes: 1, digest },
});
const onClaim = (volumeClaimName?: string) =>
  stored("Filesystem", { filesystem: { path: "runs/u/artifacts/a", ...(volumeClaimName && { volumeClaimName }) } });
const inBucket = (name: string) => stored("S3", { s3: { bucket: name, key: "runs/u/artifacts/a" } });

const references: Record<string, { ref: ArtifactRef; to?: ArtifactStoreSpec; want: RegExp | undefined }> = {
  "the same claim": { ref: onClaim("a"), to: claim("a"), want: undefined },
  "a claim that it does not name": { ref: onClaim(), to: claim("a"), want: undefined },
  "another claim": { ref: onClaim("a"), to: claim("b"), want: /^it is in claim a, Runtime "two" has claim b$/ },
  "the same bucket": { ref: inBucket("a"), to: bucket("a"), want: undefined },
  "another bucket": { ref: inBucket("a"), to: bucket("b"), want: /bucket a, .* bucket b/ },
  "another driver": { ref: inBucket("a"), to: claim("a"), want: /driver S3, Runtime "two" has one of Filesystem/ },
  "no store": { ref: onClaim("a"), want: /^Runtime "two" has no artifactStore$/ },
};

test.each(Object.entries(references))("an artifact for a Runtime: %s", (_, { ref, to, want }) => {
  const message = unreadable(ref, runtime("two", to));
  expect(message).toEqual(want === undefined ? undefined : expect.stringMatching(want));
});

const plans = new Map([
  ["build", job("build", "builder")],
  ["deploy", consumer],
]);

test("stores that do not fit are found before a Run exists", () => {
  const runtimes = new Map([
    ["builder", runtime("builder", claim("a"))],
    ["bash", runtime("bash", claim("b"))],
  ]);
  expect(checkStores(consumer, runtimes.get("bash"), plans, (name) => runtimes.get(name))).toEqual({
    reason: "ArtifactStoreMismatch",
    message:
      'job "deploy" takes artifacts of job "build", but Runtimes "builder" and "bash" keep artifacts in different places: claim a and claim b',
  });
});

test("a Runtime that is not there yet is no mismatch, and a job without artifacts needs no store", () => {
  expect(checkStores(consumer, undefined, plans, () => undefined)).toBeUndefined();
  expect(checkStores(job("x", "bash", [[]]), runtime("bash"), plans, (name) => runtime(name))).toBeUndefined();
});

test("one Runtime without a store is a mismatch with itself", () => {
  const same = new Map([["build", job("build", "bash")]]);
  const found = checkStores(consumer, runtime("bash"), same, (name) => runtime(name));
  expect(found?.message).toMatch(/Runtime "bash" has no artifactStore/);
});

test("where nobody knows the Runtime of the producer, the coordinates of an artifact tell", () => {
  const inputs = [[{ ref: onClaim("a"), path: "x" }]];
  expect(checkStores(consumer, runtime("two", claim("b")), new Map(), () => undefined, inputs)?.message).toBe(
    'job "deploy" takes artifact "a", but it is in claim a, Runtime "two" has claim b',
  );
});

test("artifacts of a matrix are those of its instances, and a name stands once", () => {
  const ref = onClaim("a");
  const of = (artifacts: JobStatus["artifacts"]): JobStatus => ({
    phase: "Succeeded",
    ...(artifacts && { artifacts }),
  });
  const group: JobStatus = { phase: "Succeeded", instances: 2 };
  const taker = job("deploy", "bash", [[{ job: "build", name: "a", path: "a" }]]);
  const from = (one: JobStatus, two: JobStatus) =>
    resolveArtifacts(taker, { build: group, "build.0": one, "build.1": two });
  expect(from(of({ b: ref }), of({ a: ref }))).toMatchObject({ ok: true });
  expect(from(of({ a: ref }), of({ a: ref }))).toMatchObject({
    ok: false,
    reason: "ArtifactAmbiguous",
    message: expect.stringMatching(/jobs "build.0" and "build.1" have one of that name$/),
  });
  expect(from(of({ b: ref }), of(undefined))).toMatchObject({
    reason: "ArtifactMissing",
    message: expect.stringMatching(/which has b$/),
  });
});
