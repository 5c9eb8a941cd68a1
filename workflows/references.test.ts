import { expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import { buildGraph } from "./graph.ts";
import { checkIdentifiers } from "./identifiers.ts";
import { checkArtifacts, parseArtifactReference } from "./references.ts";

const forms: Record<string, { job: string; name: string } | undefined> = {
  "jobs.build.artifacts.dist": { job: "build", name: "dist" },
  "jobs.build.artifacts.dist.tgz": { job: "build", name: "dist.tgz" },
  "jobs.a-b_C.artifacts..hidden": { job: "a-b_C", name: ".hidden" },
  "jobs.build.artifacts.a.artifacts.b": { job: "build", name: "a.artifacts.b" },
  "jobs.build.artifacts.with space": { job: "build", name: "with space" },
  "jobs.build.artifacts.": undefined,
  "jobs.build.artifacts": undefined,
  "jobs.build.outputs.x": undefined,
  "needs.build.artifacts.x": undefined,
  "jobs.1a.artifacts.x": undefined,
  "jobs..artifacts.x": undefined,
  "Jobs.build.artifacts.x": undefined,
};

test.each(Object.entries(forms))("%s", (from, want) => {
  expect(parseArtifactReference(from)).toEqual(want);
});

const steps = [{ name: "s", run: "true" }];
const jobs: Record<string, JobSpec> = {
  first: { "runs-on": "bash", steps },
  build: { "runs-on": "bash", needs: ["first"], steps },
  called: { uses: "other" },
  deploy: { "runs-on": "bash", needs: ["build", "called"], steps },
};
const { graph } = buildGraph(jobs, "spec.jobs");

const check = (...artifacts: { from: string; path: string }[]) =>
  checkArtifacts({ name: "s", run: "true", artifacts }, "deploy", "spec.jobs.deploy.steps[0]", jobs, graph);

test("artifacts of a direct need are taken", () => {
  expect(
    check(
      { from: "jobs.build.artifacts.dist.tgz", path: "dist.tgz" },
      { from: "jobs.build.artifacts.dist.tgz", path: "in/x" },
    ),
  ).toEqual({
    references: [
      { job: "build", name: "dist.tgz", path: "dist.tgz" },
      { job: "build", name: "dist.tgz", path: "in/x" },
    ],
    errors: [],
  });
});

const sources: Record<string, { from: string; message: RegExp; advice: RegExp }> = {
  "another form": { from: "build.dist", message: /does not name an artifact/, advice: /jobs\.JOB\.artifacts\.NAME/ },
  "an expression": {
    from: `\${{ jobs.build.artifacts.x }}`,
    message: /not an expression/,
    advice: /jobs\.JOB\.artifacts\.NAME/,
  },
  "a job that is not there": {
    from: "jobs.nope.artifacts.x",
    message: /there is no job "nope"/,
    advice: /build and called/,
  },
  "a member of every object": {
    from: "jobs.constructor.artifacts.x",
    message: /there is no job "constructor"/,
    advice: /build/,
  },
  "the job itself": {
    from: "jobs.deploy.artifacts.x",
    message: /takes an artifact of itself/,
    advice: /share their files/,
  },
  "a need of a need": {
    from: "jobs.first.artifacts.x",
    message: /job "first" is not a direct need of "deploy"/,
    advice: /Add "first" to the needs of "deploy"/,
  },
  "a job made of another Workflow": {
    from: "jobs.called.artifacts.x",
    message: /no steps of its own/,
    advice: /outputs/,
  },
  "a name that is a path": { from: "jobs.build.artifacts.a/b", message: /has a slash/, advice: /plain file names/ },
  "a name that leaves": { from: "jobs.build.artifacts...", message: /segment "\.\."/, advice: /without/ },
  "a name over the limit": {
    from: `jobs.build.artifacts.${"é".repeat(128)}`,
    message: /longer than 255 bytes/,
    advice: /shorter/,
  },
};

test.each(Object.entries(sources))("the source cannot be %s", (_, { from, message, advice }) => {
  expect(check({ from, path: "x" })).toEqual({
    references: [],
    errors: [
      {
        path: "spec.jobs.deploy.steps[0].artifacts[0].from",
        message: expect.stringMatching(message),
        advice: expect.stringMatching(advice),
        type: "FieldValueInvalid",
      },
    ],
  });
});

const destinations: Record<string, RegExp> = {
  "/etc/passwd": /absolute/,
  "../x": /segment "\.\."/,
  "a/../../x": /segment "\.\."/,
  "a//b": /empty segment/,
  "./a": /segment "\."/,
  "": /empty/,
  ".kruntimes/runs/x": /reserved name/,
  "a/.KRUNTIMES": /reserved name/,
  "a\nb": /control character U\+000A/,
};

test.each(Object.entries(destinations))("the destination cannot be %j", (path, message) => {
  const { errors } = check({ from: "jobs.build.artifacts.x", path });
  expect(errors).toMatchObject([
    { path: "spec.jobs.deploy.steps[0].artifacts[0].path", message: expect.stringMatching(message) },
  ]);
});

test("the destination is no expression", () => {
  const { errors } = check({ from: "jobs.build.artifacts.x", path: `\${{ steps.a.outputs.x }}` });
  expect(errors).toMatchObject([{ message: expect.stringMatching(/not an expression/) }]);
});

test.each([
  ["a", "a"],
  ["a", "a/b"],
  ["a/b/c", "a/b"],
])("%s and %s are in each other's way", (first, second) => {
  const { errors } = check(
    { from: "jobs.build.artifacts.x", path: "other" },
    { from: "jobs.build.artifacts.x", path: first },
    { from: "jobs.build.artifacts.y", path: second },
  );
  expect(errors).toMatchObject([
    { path: "spec.jobs.deploy.steps[0].artifacts[2].path", message: expect.stringMatching(/artifacts\[1\]/) },
  ]);
});

test("paths that only begin alike are apart", () => {
  const { errors } = check(
    { from: "jobs.build.artifacts.x", path: "a" },
    { from: "jobs.build.artifacts.y", path: "a.txt" },
  );
  expect(errors).toEqual([]);
});

const names: Record<string, { names: string[]; want: RegExp[] }> = {
  "names of every form": { names: ["a", "B", "c-d", "e_f", "g1", "x".repeat(63)], want: [] },
  "a name that begins with a digit": { names: ["1a"], want: [/^"1a" cannot be the name of a step/] },
  "a name that ends with a dash": { names: ["a-"], want: [/^"a-" cannot be/] },
  "a name with a dot": { names: ["a.b"], want: [/^"a\.b" cannot be/] },
  "a name over the limit": { names: ["x".repeat(64)], want: [/cannot be/] },
  "two steps of one name": { names: ["a", "b", "a"], want: [/^there are two steps named "a"/] },
  "two names that differ in case": {
    names: ["Build", "bUILD"],
    want: [/^"bUILD" and "Build" cannot be told apart: .* "build"/],
  },
  "two names that differ in - and _": { names: ["a-b", "a_b"], want: [/^"a_b" and "a-b" cannot be told apart/] },
};

test.each(Object.entries(names))("%s", (_, { names: list, want }) => {
  const errors = checkIdentifiers(
    "step",
    list.map((name, index) => [name, `steps[${index}].name`]),
  );
  expect(errors.map(({ message }) => message)).toEqual(want.map((each) => expect.stringMatching(each)));
});
