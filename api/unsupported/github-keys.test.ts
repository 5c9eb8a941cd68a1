/** What GitHub's workflow syntax has, key by key: a key that no schema declares would be pruned without a word by an API server. */
import { expect, test } from "vitest";
import { JobSpec, StepSpec } from "#api/kinds/job.ts";
import { WorkflowSpec } from "#api/kinds/workflow.ts";

const keys: Record<string, { schema: { properties: object }; github: string }> = {
  workflow: {
    schema: WorkflowSpec,
    github: "name run-name on permissions env defaults concurrency jobs",
  },
  job: {
    schema: JobSpec,
    github:
      "name permissions needs if runs-on snapshot environment concurrency outputs env defaults strategy container services uses with secrets timeout-minutes continue-on-error steps",
  },
  step: {
    schema: StepSpec,
    github: "id if name uses run working-directory shell with env continue-on-error timeout-minutes",
  },
};

test.each(Object.entries(keys))(
  "every key of a %s of GitHub Actions reaches us, to be honoured or refused by name",
  (_, { schema, github }) => {
    expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(github.split(" ")));
  },
);
