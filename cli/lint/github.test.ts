import { expect, test } from "vitest";
import { runCommand } from "../main.ts";
import { fakeEnvironment, fakeFiles } from "../testing/fake-environment.ts";
import { joined, runtime } from "../testing/manifests.ts";

/** What lint says to a Workflow with these lines in its spec, its job and its step: each problem from its field on. */
async function saidOf({ spec = "", job = "", step = "" }: { spec?: string; job?: string; step?: string }) {
  const indented = (text: string, by: number) =>
    text
      .split("\n")
      .map((line) => `${" ".repeat(by)}${line}`)
      .join("\n");
  const text = `apiVersion: kruntimes.io/v1alpha1
kind: Workflow
metadata: {name: ci}
spec:
${indented(spec, 2)}
  jobs:
    before: {runs-on: bash, steps: [{name: s, run: x}]}
    build:
      ${job.includes("runs-on") || job.includes("uses:") ? "" : "runs-on: bash"}
${indented(job, 6)}
      ${job.includes("uses:") ? "" : `steps:\n        - ${step.includes("name:") ? "" : "name: a\n          "}${step.includes("uses:") ? "" : "run: x"}\n${indented(step, 10)}`}
`;
  const { env, out, err } = fakeEnvironment(fakeFiles({ "ci.yaml": joined(runtime, text) }));
  const code = await runCommand(["workflow", "lint", "ci.yaml"], env);
  const lines = out.text.split("\n").filter((line) => /^ci\.yaml:/.test(line) && !line.includes(": warning: "));
  return { code, said: lines.map((line) => line.replace(/^ci\.yaml:\d+:\d+: Workflow ci: /, "")), err: err.text };
}

/** Keys and forms that people bring along from GitHub Actions, and words of what they are told. */
const habits: Record<string, [place: Parameters<typeof saidOf>[0], said: RegExp]> = {
  on: [{ spec: "on: [push]" }, /^spec\.true: not supported\. YAML reads the key `on` as true/],
  "on in quotes": [
    { spec: '"on": {workflow_dispatch: {}}' },
    /^spec\.on: not supported\. .*a WorkflowRun starts the Workflow/,
  ],
  name: [{ spec: "name: CI" }, /^spec\.name: not supported\. Use metadata\.name/],
  "run-name": [{ spec: "run-name: x" }, /^spec\.run-name: not supported/],
  permissions: [{ spec: "permissions: {contents: read}" }, /^spec\.permissions: not supported\. .*no identity/],
  concurrency: [{ spec: "concurrency: {group: a, cancel-in-progress: true}" }, /^spec\.concurrency: not supported/],
  defaults: [{ spec: "defaults: {run: {shell: bash}}" }, /^spec\.defaults: not supported\. Write shell at each step/],
  "name of a job": [{ job: "name: Build" }, /build\.name: not supported\. The id of the job is its name/],
  "permissions of a job": [{ job: "permissions: write-all" }, /build\.permissions: not supported/],
  "needs as a text": [{ job: "needs: before" }, /build\.needs: must be a list, and is a text\. Write needs: \[JOB\]/],
  "labels of runners": [
    { job: "runs-on: [self-hosted, linux]" },
    /build\.runs-on: must be a text, and is a list\. Write the name of one Runtime/,
  ],
  "a group of runners": [{ job: "runs-on: {group: x}" }, /build\.runs-on\.group: there is no such field/],
  environment: [{ job: "environment: production" }, /build\.environment: not supported\. .*suspend/],
  "concurrency of a job": [{ job: "concurrency: x" }, /build\.concurrency: not supported/],
  "defaults of a job": [{ job: "defaults: {run: {working-directory: x}}" }, /build\.defaults: not supported/],
  "timeout-minutes of a job": [
    { job: "timeout-minutes: 5" },
    /build\.timeout-minutes: not supported\. Use timeout, e\.g\. timeout: 5m/,
  ],
  container: [{ job: "container: {image: node}" }, /build\.container: not supported\. Make a Runtime with that image/],
  services: [{ job: "services: {db: {image: postgres}}" }, /build\.services: not supported/],
  snapshot: [{ job: "snapshot: x" }, /build\.snapshot: not supported/],
  "secrets: inherit": [{ job: "uses: other\nsecrets: inherit" }, /build\.secrets: not supported\. .*Secret/],
  "fail_fast in another spelling": [
    { job: "strategy: {fail_fast: true, matrix: {a: [1]}}" },
    /strategy\.fail_fast: there is no such field\. Did you mean fail-fast\?/,
  ],
  runsOn: [{ job: "runsOn: bash" }, /build\.runsOn: there is no such field/],
  id: [{ step: "id: x" }, /steps\[0\]\.id: not supported\. Use name/],
  "a name with spaces": [
    { step: "name: Run tests" },
    /steps\[0\]\.name: invalid value: "Run tests"\. Write letters, digits, - and _/,
  ],
  "working-directory": [
    { step: "working-directory: x" },
    /steps\[0\]\.working-directory: not supported\. .*`cd DIRECTORY`/,
  ],
  "timeout-minutes": [{ step: "timeout-minutes: 5" }, /steps\[0\]\.timeout-minutes: not supported\. Use timeout/],
  continue_on_error: [
    { step: "continue_on_error: true" },
    /continue_on_error: there is no such field\. Did you mean continue-on-error\?/,
  ],
  "a context of GitHub": [
    { step: "env: {SHA: '${{ github.sha }}'}" },
    /env\.SHA: there is no "github" here\. Use run\.name/,
  ],
  "a secret": [{ step: "env: {TOKEN: '${{ secrets.TOKEN }}'}" }, /env\.TOKEN: there is no "secrets" here\. .*Secret/],
  "a variable of the repository": [{ step: "env: {A: '${{ vars.A }}'}" }, /env\.A: there is no "vars" here/],
  "the machine": [{ step: "env: {A: '${{ runner.os }}'}" }, /env\.A: there is no "runner" here/],
  hashFiles: [
    { step: "env: {A: \"${{ hashFiles('a') }}\"}" },
    /env\.A: there is no function "hashFiles"\. .*sha256sum/,
  ],
};

test.each(Object.entries(habits))("%s", async (_, [place, said]) => {
  const found = await saidOf(place);
  expect(found.said).toEqual([expect.stringMatching(said)]);
  expect(found.code).toBe(2);
});

test("what both have is accepted", async () => {
  const found = await saidOf({
    spec: "env: {PORT: 8080}",
    job: "needs: [before]\nif: ${{ !cancelled() }}\nenv: {A: true}",
    step: "if: failure()\nshell: bash\ncontinue-on-error: true",
  });
  expect(found).toMatchObject({ code: 0, said: [] });
});
