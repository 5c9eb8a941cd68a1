import { afterEach, beforeEach, test } from "vitest";
import { parse } from "yaml";
import { actions, workflows } from "#api/resources.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import { createWorkflowTemplate } from "./index.ts";

const namespace = "default";
let plane: ControlPlane;
beforeEach(async () => {
  plane = new ControlPlane();
  await plane.start((deps, informers) => [createWorkflowTemplate(deps, informers)]);
});
afterEach(() => plane.stop());

const verdict = async (name: string) => {
  const workflow = await plane.find(workflows, name);
  const valid = workflow?.status?.conditions?.find(({ type }) => type === "Valid");
  return valid && `${valid.status} ${valid.message.split(". ")[0]}`;
};

const until = (name: string, want: RegExp) => plane.until(async () => want.test((await verdict(name)) ?? ""));

const action = (inputs: string) => ({ spec: parse(`{inputs: ${inputs}, steps: [{name: s, run: x}]}`) });

test("a Workflow is valid as long as all that it uses is there and fits", async () => {
  const create = (name: string, jobs: string) =>
    plane.create(workflows, { metadata: { name, namespace }, spec: parse(`{jobs: ${jobs}}`) });
  await create("outer", "{a: {uses: inner}}");
  await until("outer", /^False spec\.jobs\.a\.uses: there is no Workflow "inner"/);
  await create("inner", "{a: {runs-on: b, steps: [{name: s, uses: lint}]}}");
  await until("inner", /^False .*: there is no Action "lint"/);
  await until("outer", /^False .*: Workflow "inner" is not valid/);

  await plane.create(actions, { metadata: { name: "lint", namespace }, ...action("{}") });
  await until("inner", /^True/);
  await until("outer", /^True/);
  await plane.client.of(actions).patch({ name: "lint", namespace }, action("{level: {required: true}}"));
  await until("inner", /^False .*: Action "lint" must get input "level"/);
  await until("outer", /^False/);
  await plane.client.of(actions).patch({ name: "lint", namespace }, action("{level: {required: false}}"));
  await until("outer", /^True/);
  await plane.client.of(actions).delete({ name: "lint", namespace });
  await until("outer", /^False .*: Workflow "inner" is not valid: .*there is no Action "lint"/);
});
