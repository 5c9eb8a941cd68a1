import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { runCommand } from "../main.ts";
import { fakeEnvironment, fakeFiles } from "../testing/fake-environment.ts";
import { joined, runtime, workflow } from "../testing/manifests.ts";

async function lint(files: Record<string, string>, ...argv: string[]) {
  const { env, out, err } = fakeEnvironment(fakeFiles(files));
  const code = await runCommand(["workflow", "lint", ...(argv.length > 0 ? argv : Object.keys(files))], env);
  return { code, out: out.text, err: err.text };
}

const header = "apiVersion: kruntimes.io/v1alpha1";

test("a file that is in order", async () => {
  expect(await lint({ "ci.yaml": joined(runtime, workflow) })).toEqual({
    code: 0,
    out: "",
    err: "2 objects: nothing to complain about\n",
  });
});

const cases: Record<string, { text: string; want: string }> = {
  "a field that is misspelt": {
    text: joined(runtime, workflow.replace("runs-on", "run-on")),
    want: `ci.yaml:13:7: Workflow ci: spec.jobs.build.run-on: there is no such field. Did you mean runs-on?
          run-on: bash
          ^
`,
  },
  "an expression in a block of text": {
    text: joined(
      runtime,
      workflow.replace(
        "- {name: make, run: make}",
        "- name: make\n          run: |\n            true\n            echo ${{ nope }} x",
      ),
    ),
    want: `ci.yaml:18:22: Workflow ci: spec.jobs.build.steps[0].run: there is no "nope" here. Known here: needs, jobs, inputs, run, job, env and steps. Strings stand in single quotes.
                echo \${{ nope }} x
                         ^
`,
  },
  "an expression in quotes with doubled ones": {
    text: joined(runtime, workflow.replace("run: make", "run: 'echo ''a'' ${{ nope }}'")),
    want: `ci.yaml:15:45: Workflow ci: spec.jobs.build.steps[0].run: there is no "nope" here. Known here: needs, jobs, inputs, run, job, env and steps. Strings stand in single quotes.
            - {name: make, run: 'echo ''a'' \${{ nope }}'}
                                                ^
`,
  },
  "an expression in double quotes with escapes": {
    text: joined(runtime, workflow.replace("run: make", 'run: "echo \\"a\\" \\x41 ${{ nope }}"')),
    want: `ci.yaml:15:50: Workflow ci: spec.jobs.build.steps[0].run: there is no "nope" here. Known here: needs, jobs, inputs, run, job, env and steps. Strings stand in single quotes.
            - {name: make, run: "echo \\"a\\" \\x41 \${{ nope }}"}
                                                     ^
`,
  },
  "an expression in a text that YAML joins from lines": {
    text: joined(
      runtime,
      workflow.replace(
        "- {name: make, run: make}",
        "- name: make\n          run: >\n            echo\n            ${{ nope }}",
      ),
    ),
    want: `ci.yaml:16:11: Workflow ci: spec.jobs.build.steps[0].run: there is no "nope" here. Known here: needs, jobs, inputs, run, job, env and steps. Strings stand in single quotes.
              run: >
              ^
`,
  },
  "a place in a script that only the Runtime explains": {
    text: joined(
      runtime.replace("spec:", "spec:\n  server: {interpreter: python}"),
      workflow
        .replace("runs-on: bash", "runs-on: bash\n      needs: [first]")
        .replace("run: make", `run: 'print("\${{ needs.first.result }}")'`)
        .concat("    first: {runs-on: bash, steps: [{name: s, run: x}]}\n"),
    ),
    want: `ci.yaml:17:37: Workflow ci: spec.jobs.build.steps[0].run: an expression cannot stand inside a Python string. Leave the quotes away: the value is a string already. Join it with other text by +: "v" + EXPRESSION.
            - {name: make, run: 'print("\${{ needs.first.result }}")'}
                                        ^
`,
  },
  "a job that is a list of names": {
    text: joined(runtime, workflow.replace("runs-on: bash", "runs-on: bash\n      needs: build")),
    want: `ci.yaml:14:7: Workflow ci: spec.jobs.build.needs: must be a list, and is a text. Write needs: [JOB].
          needs: build
          ^
`,
  },
  "a WorkflowAction in small letters, with the parameters of another one": {
    text: `${header}\nkind: WorkflowAction\nmetadata: {generateName: stop-}\nspec: {workflowRef: {name: ci-1}, action: resume, stop: {}}\n`,
    want: `ci.yaml:4:35: WorkflowAction stop-*: spec.action: an action begins with a capital letter: Suspend, Resume, Stop, Terminate or Retry
    spec: {workflowRef: {name: ci-1}, action: resume, stop: {}}
                                      ^
ci.yaml:4:51: WorkflowAction stop-*: spec.stop: stop needs action Stop
    spec: {workflowRef: {name: ci-1}, action: resume, stop: {}}
                                                      ^
`,
  },
  "words that YAML reads as something else": {
    text: joined(
      runtime,
      workflow
        .replace("runs-on: bash", "runs-on: bash\n      if: on\n      env: {A: 1}")
        .replace("name: make", "name: on"),
    ),
    want: `ci.yaml:17:12: Workflow ci: spec.jobs.build.steps[0].name: must be a text, and without quotes YAML reads on as true. Put quotes around it: "on".
            - {name: on, run: make}
               ^
`,
  },
  "a file that is no YAML": {
    text: `${header}\nkind: [`,
    want: `ci.yaml:2:8: flow sequence in block collection must be sufficiently indented and end with a ]
`,
  },
};

test.each(Object.entries(cases))("%s", async (_, { text, want }) => {
  const { code, out } = await lint({ "ci.yaml": text });
  expect(out).toBe(want);
  expect(code).toBe(2);
});

test("names that are in none of the files are warnings: a cluster may have them", async () => {
  const { code, out, err } = await lint({ "ci.yaml": workflow });
  expect(
    out,
  ).toBe(`ci.yaml:7:7: warning: Runtime bash is in none of the files. They hold no Runtime at all; name the file that has it, too.
          runs-on: bash
          ^
`);
  expect({ code, err }).toEqual({ code: 0, err: "1 object: 1 warning\n" });
});

test("data for programs", async () => {
  const { code, out } = await lint(
    { "ci.yaml": joined(runtime, workflow.replace("run: make", "rnu: make")) },
    "ci.yaml",
    "-o",
    "json",
  );
  expect(code).toBe(2);
  expect(JSON.parse(out)).toEqual({
    errors: 1,
    warnings: 0,
    findings: [
      {
        file: "ci.yaml",
        line: 15,
        column: 24,
        message: "Workflow ci: spec.jobs.build.steps[0].rnu: there is no such field",
        advice: "Did you mean run?",
        severity: "error",
      },
    ],
  });
});

test("everything that is wrong in several files is told at once, in the order of the files", async () => {
  const { out } = await lint({
    "a.yaml": `${header}\nkind: Workflw\nmetadata: {name: x}\n`,
    "b.yaml": joined(runtime, workflow.replace("runs-on: bash", "runs-on: bash\n      needs: [build, other]")),
  });
  expect(out.split("\n").filter((line) => /^\S/.test(line))).toEqual([
    "a.yaml:2:1: there is no kind Workflw. Did you mean Workflow?",
    'b.yaml:14:15: Workflow ci: spec.jobs.build.needs[0]: job "build" needs itself. Take it out of the list.',
    'b.yaml:14:22: Workflow ci: spec.jobs.build.needs[1]: there is no job "other". Other jobs: none.',
  ]);
});

test("what stands twice is told once", async () => {
  const { out } = await lint({ "ci.yaml": joined(runtime, workflow, workflow) });
  expect(out.split("\n").filter((line) => /^\S/.test(line))).toEqual([
    "ci.yaml:19:12: Workflow ci was defined before, at ci.yaml:9. Rename or remove one of them.",
  ]);
});

const examples = new URL("../../examples/", import.meta.url);
const directories = readdirSync(examples, { withFileTypes: true }).filter(
  // Roles are for real clusters.
  (entry) => entry.isDirectory() && entry.name !== "workspace-permissions",
);

test.each(directories.map(({ name }) => name))("the example %s is in order", async (name) => {
  const files = readdirSync(new URL(name, examples)).filter((file) => file.endsWith(".yaml"));
  const texts = files.map((file) => [file, readFileSync(new URL(`${name}/${file}`, examples), "utf8")]);
  expect(await lint(Object.fromEntries(texts))).toMatchObject({ code: 0, out: "" });
});

test("another format is refused", async () => {
  expect(await lint({ "ci.yaml": workflow }, "ci.yaml", "-o", "yaml")).toEqual({
    code: 2,
    out: "",
    err: "krt: there is no output format yaml of lint\n     Write -o json, or leave it out.\n",
  });
});
