/**
 * What admission says of workflows, field by field: of their graphs, of the artifacts that steps take, and of what they refer to.
 * `krt workflow lint` says the same of a file, if the files have what is referred to.
 */
import { expect, test } from "vitest";
import { parse } from "yaml";
import { actions, workflows } from "#api/resources.ts";
import { runCommand } from "#cli/main.ts";
import { fakeEnvironment, fakeFiles } from "#cli/testing/fake-environment.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { createApiServer } from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";
import { createHandler } from "#webhook/handler.ts";
import { liveLookups } from "#webhook/lookups.ts";

const namespace = "default";
const header = "apiVersion: kruntimes.io/v1alpha1";
const manifest = (kind: string, name: string, spec: string) =>
  `${header}\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`;

/** What the cases refer to. */
const templates = {
  lint: manifest(
    "Action",
    "lint",
    "{inputs: {level: {required: true}}, outputs: {count: {value: x}}, steps: [{name: s, run: x}]}",
  ),
  release: manifest(
    "Workflow",
    "release",
    "{inputs: {version: {required: true}}, jobs: {a: {runs-on: bash, steps: [{name: s, run: x}]}}}",
  ),
  ring: manifest("Workflow", "ring", "{jobs: {a: {uses: ring}}}"),
  d1: manifest("Workflow", "d1", "{jobs: {a: {uses: d2}}}"),
  d2: manifest("Workflow", "d2", "{jobs: {a: {uses: d3}}}"),
  d3: manifest("Workflow", "d3", "{jobs: {a: {uses: d4}}}"),
  d4: manifest("Workflow", "d4", "{jobs: {a: {runs-on: bash, steps: [{name: s, run: x}]}}}"),
};

const job = (more: string) => `runs-on: bash, ${more}`;
const plain = job("steps: [{name: s, run: x}]");
const taking = (...artifacts: string[]) =>
  `{jobs: {far: {${plain}}, make: {needs: [far], ${plain}}, call: {uses: d4}, take: {needs: [make, call], ${job(
    `steps: [{name: s, run: x}, {name: t, run: x, artifacts: [${artifacts.map((each) => `{${each}}`).join(", ")}]}]`,
  )}}}}`;
const at = "spec.jobs.take.steps[1].artifacts";

interface Case {
  readonly spec: string;
  /** Path and part of the message of each error. */
  readonly want: readonly (readonly [path: string, says: RegExp])[];
}

const graphs: Record<string, Case> = {
  "a need that is no job": {
    spec: `{jobs: {a: {needs: [b, zzz], ${plain}}, b: {${plain}}}}`,
    want: [["spec.jobs.a.needs[1]", /there is no job "zzz"/]],
  },
  "a job that needs itself": {
    spec: `{jobs: {a: {needs: [a], ${plain}}}}`,
    want: [["spec.jobs.a.needs[0]", /a/]],
  },
  "jobs that wait for each other": {
    spec: `{jobs: {a: {needs: [c], ${plain}}, b: {needs: [a], ${plain}}, c: {needs: [b], ${plain}}}}`,
    want: [["spec.jobs.b.needs[0]", /a -> c -> b -> a/]],
  },
  "ids that names of objects cannot tell apart": {
    spec: `{jobs: {a_b: {${plain}}, A-b: {${plain}}}}`,
    want: [["spec.jobs.A-b", /cannot be told apart/]],
  },
  "an output of a job that is no need": {
    spec: `{jobs: {a: {outputs: {o: x}, ${plain}}, b: {${job("steps: [{name: s, run: 'echo ${{ needs.a.outputs.o }}'}]")}}}}`,
    want: [["spec.jobs.b.steps[0].run", /a/]],
  },
  "a step that looks at one that comes later": {
    spec: `{jobs: {a: {${job("steps: [{name: s, run: 'echo ${{ steps.t.outputs.o }}'}, {name: t, run: x}]")}}}}`,
    want: [["spec.jobs.a.steps[0].run", /step "t" has not run yet/]],
  },
};

const artifacts: Record<string, Case> = {
  "a job that is no direct need": {
    spec: taking("from: jobs.far.artifacts.x, path: x"),
    want: [[`${at}[0].from`, /job "far" is not a direct need of "take"/]],
  },
  "a job that is not there": {
    spec: taking("from: jobs.nobody.artifacts.x, path: x"),
    want: [[`${at}[0].from`, /there is no job "nobody"/]],
  },
  "the job itself": {
    spec: taking("from: jobs.take.artifacts.x, path: x"),
    want: [[`${at}[0].from`, /takes an artifact of itself/]],
  },
  "a job that is a Workflow": {
    spec: taking("from: jobs.call.artifacts.x, path: x"),
    want: [[`${at}[0].from`, /has no steps of its own/]],
  },
  "a name that is a path": {
    spec: taking("from: jobs.make.artifacts.a/b, path: x"),
    want: [[`${at}[0].from`, /has a slash/]],
  },
  "two at one place": {
    spec: taking("from: jobs.make.artifacts.x, path: in", "from: jobs.make.artifacts.other, path: in/other"),
    want: [[`${at}[1].path`, /are in each other's way/]],
  },
  "a place that is reserved": {
    spec: taking("from: jobs.make.artifacts.x, path: .kruntimes/x"),
    want: [[`${at}[0].path`, /reserved name/]],
  },
  "two that are wrong": {
    spec: taking(
      "from: jobs.far.artifacts.x, path: x",
      "from: jobs.make.artifacts.x, path: ok",
      "from: jobs.take.artifacts.x, path: z",
    ),
    want: [
      [`${at}[0].from`, /not a direct need/],
      [`${at}[2].from`, /of itself/],
    ],
  },
};

const references: Record<string, Case> = {
  "an Action without an input that it needs": {
    spec: `{jobs: {a: {${job("steps: [{name: s, uses: lint}]")}}}}`,
    want: [["spec.jobs.a.steps[0].with.level", /Action "lint" must get input "level"/]],
  },
  "an Action with an input that it has not": {
    spec: `{jobs: {a: {${job("steps: [{name: s, uses: lint, with: {level: 1, more: 2}}]")}}}}`,
    want: [["spec.jobs.a.steps[0].with.more", /Action "lint" has no input "more"/]],
  },
  "an output that the Action has not": {
    spec: `{jobs: {a: {${job("steps: [{name: s, uses: lint, with: {level: 1}}, {name: t, run: 'echo ${{ steps.s.outputs.m }}'}]")}}}}`,
    want: [["spec.jobs.a.steps[1].run", /no output "m"/]],
  },
  "a Workflow without an input that it needs": {
    spec: "{jobs: {a: {uses: release}}}",
    want: [["spec.jobs.a.with.version", /Workflow "release" must get input "version"/]],
  },
  "Workflows that use each other in a circle": {
    spec: "{jobs: {a: {uses: ring}}}",
    want: [["spec.jobs.a.uses", /in a circle: ring -> ring/]],
  },
  "Workflows that use each other too deep": {
    spec: "{jobs: {a: {uses: d1}}}",
    want: [["spec.jobs.a.uses", /more than 4 levels deep: d1 -> d2 -> d3 -> d4/]],
  },
};

function arrange() {
  const clock = new VirtualClock();
  const api = createApiServer({ crds: platformCrds(), clock, random: seededRandom(1) });
  const client = createClient(memoryTransport(api, clock));
  const handler = createHandler({
    lookups: liveLookups(() => client, clock),
    controller: "nobody",
    clock,
    logger: silentLogger,
  });
  return { client, handler };
}

interface Cause {
  readonly field: string;
  readonly message: string;
}

interface Answer {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/** What the webhook answers an API server, `PATH: MESSAGE` for each error. */
async function answerOf(kind: string, spec: object, old?: object): Promise<Answer> {
  const { client, handler } = arrange();
  for (const text of Object.values(templates)) {
    const { kind, metadata, spec } = parse(text);
    const object = { metadata: { ...metadata, namespace }, spec };
    await (kind === "Action" ? client.of(actions).create(object) : client.of(workflows).create(object));
  }
  const object = (spec: object) => ({
    apiVersion: "kruntimes.io/v1alpha1",
    kind,
    metadata: { name: "t", namespace },
    spec,
  });
  const request = {
    uid: "question",
    kind: { group: "kruntimes.io", version: "v1alpha1", kind },
    namespace,
    operation: old === undefined ? "CREATE" : "UPDATE",
    userInfo: { username: "ann" },
    object: object(spec),
    ...(old && { oldObject: object(old) }),
  };
  const body = JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
  const { status, body: text } = await handler.handle({ body });
  expect(status).toBe(200);
  const { allowed, warnings = [], status: refusal } = JSON.parse(text).response;
  const causes: readonly Cause[] = allowed ? [] : refusal.details.causes;
  return { errors: causes.map(({ field, message }) => `${field}: ${message}`), warnings };
}

/** What `krt workflow lint` says of one file, in the same form. */
async function lintOf(kind: string, spec: string, known: readonly string[]): Promise<string[]> {
  const runtime = manifest("Runtime", "bash", "{template: {spec: {containers: [{name: runtime, image: x}]}}}");
  const files = { "t.yaml": manifest(kind, "t", spec), "known.yaml": [runtime, ...known].join("---\n") };
  const { env, out } = fakeEnvironment(fakeFiles(files));
  await runCommand(["workflow", "lint", "t.yaml", "known.yaml", "-o", "json"], env);
  const { findings } = JSON.parse(out.text) as {
    findings: readonly { file: string; severity: string; message: string; advice?: string; line: number }[];
  };
  return findings
    .filter(({ file, severity }) => file === "t.yaml" && severity === "error")
    .map(({ message, advice }) => `${message.replace(/^\S+ t: /, "")}${advice === undefined ? "" : `. ${advice}`}`);
}

/** Without the place within a text, and the line there: lint tells them as the place in the file. */
const plainly = (text: string) => text.replace(/: \d+:\d+: /, ": ").replace(/\n[\s\S]*$/, "");

const all = { ...graphs, ...artifacts, ...references };
/** A spec with nothing wrong. */
const sound = parse(`{jobs: {a: {${plain}}}}`);

test.each(Object.entries(all))(
  "%s: refused with the path of the field, by admission and by lint alike",
  async (_, { spec, want }) => {
    const known = Object.values(templates);
    const ofRun = await answerOf("WorkflowRun", parse(spec));
    expect(ofRun.errors.map((text) => text.slice(0, text.indexOf(": ")))).toEqual(want.map(([path]) => path));
    for (const [index, [, says]] of want.entries()) expect(ofRun.errors[index]).toMatch(says);
    const linted = await lintOf("WorkflowRun", spec, known);
    expect(linted.toSorted()).toEqual(ofRun.errors.map(plainly).toSorted());
  },
);

test.each(Object.entries({ ...graphs, ...artifacts }))(
  "%s: refused in a Workflow, too, when it is made and when it is changed",
  async (_, { spec, want }) => {
    const made = await answerOf("Workflow", parse(spec));
    expect(made.errors.map((text) => text.slice(0, text.indexOf(": ")))).toEqual(want.map(([path]) => path));
    expect(await answerOf("Workflow", parse(spec), sound)).toEqual(made);
    expect((await lintOf("Workflow", spec, Object.values(templates))).toSorted()).toEqual(
      made.errors.map(plainly).toSorted(),
    );
  },
);

test.each(Object.entries(references))(
  "%s: a Workflow is warned with that path, since what it uses may change first",
  async (_, { spec, want }) => {
    const { errors, warnings } = await answerOf("Workflow", parse(spec));
    expect(errors).toEqual([]);
    expect(warnings.map((text) => text.slice(0, text.indexOf(": ")))).toEqual(want.map(([path]) => path));
    const linted = await lintOf("Workflow", spec, Object.values(templates));
    expect(linted.map((text) => text.slice(0, text.indexOf(": ")))).toEqual(want.map(([path]) => path));
  },
);

const absent = {
  "an Action": [`{jobs: {a: {${job("steps: [{name: s, uses: gone}]")}}}}`, "spec.jobs.a.steps[0].uses"],
  "a Workflow": ["{jobs: {a: {uses: gone}}}", "spec.jobs.a.uses"],
} as const;

test.each(Object.entries(absent))(
  "%s that is not there: refused for a WorkflowRun, which is frozen with it, and a warning for a Workflow",
  async (what, [spec, path]) => {
    const says = `${path}: there is no ${what.replace(/^an? /, "")} "gone"`;
    const { errors } = await answerOf("WorkflowRun", parse(spec));
    expect(errors).toEqual([expect.stringContaining(says)]);
    expect(await lintOf("WorkflowRun", spec, [])).toEqual(errors);
    expect(await answerOf("Workflow", parse(spec))).toEqual({ errors: [], warnings: [says] });
    expect(await lintOf("Workflow", spec, [])).toEqual([]);
  },
);

test("what is in order is admitted, and lint has nothing to say", async () => {
  const spec = taking("from: jobs.make.artifacts.x, path: in/x", "from: jobs.make.artifacts.dist.tgz, path: dist.tgz");
  for (const kind of ["Workflow", "WorkflowRun"]) {
    expect(await answerOf(kind, parse(spec))).toEqual({ errors: [], warnings: [] });
    expect(await lintOf(kind, spec, Object.values(templates))).toEqual([]);
  }
});
