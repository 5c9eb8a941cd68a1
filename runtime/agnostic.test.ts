import { expect, test } from "vitest";
import { sourcesOf } from "#test/support/sources.ts";

/** The store is cleared and read back for whoever refers to an artifact: these look through the references that WorkflowRuns have. */
const referenceReaders = ["artifact-request", "artifact-server", "artifact-sweep"].map(
  (name) => `runtime/agent/${name}.ts`,
);

test("an agent knows of no workflow, job or step; only what keeps the store reads who refers to an artifact", async () => {
  const sources = await sourcesOf("runtime");
  expect(sources.size).toBeGreaterThan(60);
  const knowing = [...sources].filter(([, text]) => /workflow|\.jobs\b|labels\.(job|step)\b/i.test(text));
  expect(knowing.map(([file]) => file)).toEqual(referenceReaders);
});
