import { expect, test } from "vitest";
import { workflowRuns } from "#api/resources.ts";
import { namespaces, secrets } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { localAdmission } from "#local/admission.ts";
import { createApiServer } from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";
import { joined, manifestsOf, problemsOf, run, runtime, workflow, workflowRun } from "../testing/manifests.ts";
import { apply } from "./apply.ts";
import { planOf } from "./plan.ts";

const crds = platformCrds();

/** The API server of a local cluster, with its admission rules and without anything that acts on objects. */
function setup() {
  const clock = new VirtualClock();
  const client = createClient(memoryTransport({ handle: (r) => api.handle(r), watch: (r) => api.watch(r) }, clock));
  const api = createApiServer({
    crds,
    admission: [localAdmission(() => client, clock)],
    clock,
    random: seededRandom(7),
  });
  return { client, api };
}

const applied = (...documents: string[]) => apply(planOf(manifestsOf(joined(...documents))), setup().client);

test("executions are returned as the server made them", async () => {
  const created = await applied(workflow, runtime);
  expect(created.workflowRuns).toMatchObject([
    {
      metadata: { name: expect.stringMatching(/^ci-[a-z0-9]{5}$/), uid: expect.any(String) },
      status: { phase: "Pending" },
    },
  ]);
  const given = await applied(workflow, runtime, run, workflowRun);
  expect([...given.runs, ...given.workflowRuns].map(({ metadata }) => metadata.name)).toEqual(["hello", "ci-1"]);
});

test("namespaces that objects are put into are made", async () => {
  const { client } = setup();
  const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: own}\n";
  const defined = "apiVersion: v1\nkind: Namespace\nmetadata: {name: own, labels: {a: b}}\n";
  const standard = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n";
  const elsewhere = [runtime, run].map((text) => text.replace(/metadata: \{/, "metadata: {namespace: ci, "));
  await apply(planOf(manifestsOf(joined(secret, defined, standard, ...elsewhere))), client);
  expect(await client.of(namespaces).get({ name: "ci" })).toBeDefined();
  expect((await client.of(namespaces).get({ name: "own" })).metadata.labels).toMatchObject({ a: "b" });
  expect(await client.of(secrets).get({ name: "s", namespace: "own" })).toBeDefined();
});

const refusals: Record<string, { documents: string[]; want: string[] }> = {
  "fields that do not exist, with the one that was meant": {
    documents: [runtime, workflow.replace("runs-on", "run-on").replace("run: make", "rnu: make")],
    want: [
      "f.yaml:13:7: Workflow ci: spec.jobs.build.run-on: there is no such field. Did you mean runs-on?",
      "f.yaml:15:24: Workflow ci: spec.jobs.build.steps[0].rnu: there is no such field. Did you mean run?",
    ],
  },
  "a field that is like no other, with those that there are": {
    documents: [runtime, run.replace("source:", "colour: red, source:")],
    want: [
      expect.stringMatching(
        /^f\.yaml:10:23: Run hello: spec\.colour: there is no such field\. There are runtime, source, mode,/,
      ),
    ] as string[],
  },
  "a field that is not supported, with what to write instead": {
    documents: [runtime, workflow.replace("run: make", "run: make, timeout-minutes: 5")],
    want: [
      "f.yaml:15:35: Workflow ci: spec.jobs.build.steps[0].timeout-minutes: not supported. Use timeout, e.g. timeout: 5m.",
    ],
  },
  "what breaks a pattern, in words": {
    documents: [runtime, run.replace("source:", "timeout: soon, source:")],
    want: ['f.yaml:10:23: Run hello: spec.timeout: invalid value: "soon". Write a duration: 250ms, 90s, 5m, 1h30m.'],
  },
  "a wrong type": {
    documents: [runtime, run.replace('"true"', "[yes]")],
    want: [
      "f.yaml:10:32: Run hello: spec.source.inline: must be a text, and is a list. Write a text; put quotes around numbers, true and false.",
    ],
  },
  "what a rule forbids": {
    documents: [runtime, run.replace('source: {inline: "true"}', "source: {commitSHA: abc}")],
    want: [
      "f.yaml:10:23: Run hello: spec.source: a task needs a program: source.inline, source.repoURL, or a command in mode.task.args",
      "f.yaml:10:23: Run hello: spec.source: commitSHA needs repoURL",
    ],
  },
  "what is missing, at the place where it would be": {
    documents: [runtime, workflow.replace(/ {6}steps:[\s\S]*/, "")],
    want: ["f.yaml:12:5: Workflow ci: spec.jobs[build]: exactly one of steps and uses must be set"],
  },
  "a graph that does not compile": {
    documents: [runtime, workflow.replace("runs-on: bash", "runs-on: bash\n      needs: [test]")],
    want: [expect.stringMatching(/^f\.yaml:14:15: Workflow ci: spec\.jobs\.build\.needs\[0\]: .*test/)] as string[],
  },
  "a name that no object may have": {
    documents: [runtime, run.replace("hello", "Hello_World")],
    want: [
      'f.yaml:9:12: Run Hello_World: metadata.name: invalid value: "Hello_World". Write lower-case letters, digits, - and ., with a letter or digit at both ends.',
    ],
  },
  "metadata that a server wrote": {
    documents: [runtime, run.replace("name: hello", 'name: hello, resourceVersion: "12"')],
    want: ["f.yaml:9:12: Run hello: resourceVersion should not be set on objects to be created"],
  },
  "problems of several objects": {
    documents: [runtime.replace("template:", "replics: 2\n  template:"), workflow.replace("runs-on", "run-on"), run],
    want: [
      "f.yaml:5:3: Runtime bash: spec.replics: there is no such field. Did you mean replicas?",
      "f.yaml:14:7: Workflow ci: spec.jobs.build.run-on: there is no such field. Did you mean runs-on?",
    ],
  },
};

test.each(Object.entries(refusals))("refused: %s", async (_, { documents, want }) => {
  expect(await problemsOf(() => applied(...documents))).toEqual(want);
});

test("nothing is executed when a definition is refused", async () => {
  const { client } = setup();
  const broken = planOf(manifestsOf(joined(runtime, workflow.replace("runs-on", "run-on"))));
  await expect(apply(broken, client)).rejects.toThrow();
  expect((await client.of(workflowRuns).list()).items).toEqual([]);
});

test("what is no answer of the server is not taken for one", async () => {
  const { client, api } = setup();
  api.close();
  await expect(apply(planOf(manifestsOf(joined(runtime, run))), client)).rejects.toThrow("the API server is closed");
});
