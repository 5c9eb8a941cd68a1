import assert from "node:assert/strict";
import fc from "fast-check";
import type { ActionSpec, WorkflowSpec } from "#api/kinds/workflow.ts";
import { validateCreate } from "#api/validation/index.ts";
import { compileAction, compileWorkflow, workflowErrors } from "#workflows/compile-workflow.ts";
import { exampleObjects } from "../examples.ts";
import { mutatedJson } from "../mutate-json.ts";
import { isValid } from "../schema.ts";
import { defineTarget } from "../target.ts";

const specs = (kind: string) => exampleObjects.filter((object) => object.kind === kind).map(({ spec }) => spec);
const workflows = specs("Workflow") as WorkflowSpec[];
const actions = [
  ...(specs("Action") as ActionSpec[]),
  { inputs: { a: { type: "string" } }, steps: [{ name: "s", run: "echo ${{ inputs.a }}" }] },
];

/** Whether the compiler ever gets to see a spec. */
const isAllowed = (kind: "Workflow" | "Action", spec: unknown): boolean =>
  isValid(kind, spec) && validateCreate(kind, { metadata: { name: "a" }, ...{ spec } }).length === 0;

export const workflowSpecs = (compile: typeof compileWorkflow = compileWorkflow) =>
  defineTarget({
    name: "workflows",
    holds:
      "any Workflow that its schema allows becomes a plan or errors with a path, soon; what is wrong by itself is wrong with what it uses",
    outcomes: ["a plan", "errors", "not allowed by the schema"],
    inputs: fc.record({ spec: mutatedJson(workflows), flow: mutatedJson(workflows), action: mutatedJson(actions) }),
    show: (input) => JSON.stringify(input),
    check({ spec, flow, action }) {
      if (!isAllowed("Workflow", spec)) return "not allowed by the schema";
      const templates = {
        workflow: () => (isAllowed("Workflow", flow) ? (flow as WorkflowSpec) : undefined),
        action: () => (isAllowed("Action", action) ? (action as ActionSpec) : undefined),
      };
      const alone = workflowErrors(spec as WorkflowSpec);
      const result = compile(spec as WorkflowSpec, { path: "spec", templates, languageOf: () => "bash" });
      if (isAllowed("Action", action)) compileAction(action as ActionSpec);
      for (const { path, message } of [...alone, ...(result.ok ? [] : result.errors)]) {
        assert.match(path, /^spec/);
        assert.match(message, /\S/);
        assert.doesNotMatch(message, /is not a function|Cannot read|call stack|\[object/, message);
      }
      assert(alone.length === 0 || !result.ok, `refused alone, but not with what it uses: ${alone[0]?.message}`);
      return result.ok ? "a plan" : "errors";
    },
  });
