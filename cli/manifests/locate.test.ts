import { expect, test } from "vitest";
import { parseManifests } from "./parse.ts";

const text = `apiVersion: kruntimes.io/v1alpha1
kind: Workflow
metadata:
  name: ci
  labels:
    example.com/a.b: x
    example.com/a: y
spec:
  jobs:
    build:
      steps:
        - name: one
          run: "true"
        - {name: two, run: "false"}
    deploy: &same
      needs: [build, other]
    again: *same
`;

const [document] = parseManifests("f.yaml", text).documents;

const cases: Record<string, { path: string; want: string }> = {
  "a member with dots": { path: "spec.jobs.build.steps", want: "11:7" },
  "a member in brackets": { path: "spec.jobs[build].steps", want: "11:7" },
  "an item of a list": { path: "spec.jobs.build.steps[1]", want: "14:11" },
  "a member of an item": { path: "spec.jobs.build.steps[1].run", want: "14:23" },
  "an item in flow style": { path: "spec.jobs.deploy.needs[1]", want: "16:22" },
  "a key that holds dots and slashes": { path: "metadata.labels[example.com/a.b]", want: "6:5" },
  "the longest key that fits is meant": { path: "metadata.labels.example.com/a.b", want: "6:5" },
  "and the shorter one where it is": { path: "metadata.labels.example.com/a", want: "7:5" },
  "what is missing is shown by what is around it": { path: "spec.jobs.deploy.steps[0].run", want: "15:5" },
  "an index that is not there": { path: "spec.jobs.build.steps[7].run", want: "11:7" },
  "an index into a map": { path: "spec.jobs[0]", want: "9:3" },
  "what an alias stands for is shown by its key": { path: "spec.jobs.again.needs[0]", want: "17:5" },
  "a name is no beginning of another one": { path: "spec.jobs.buil", want: "9:3" },
  "no path is the object": { path: "", want: "1:1" },
  "a path into a text": { path: "metadata.name.x", want: "4:3" },
  "something else than a path": { path: "<nil>", want: "1:1" },
};

test.each(Object.entries(cases))("%s", (_, { path, want }) => {
  const { line, column } = document?.at(path) ?? { line: 0, column: 0 };
  expect(`${line}:${column}`).toBe(want);
});
