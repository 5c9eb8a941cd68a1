import { expect, test } from "vitest";
import { explainFailure } from "./failure.ts";
import { simulate } from "./simulate.ts";

/** Worlds that have shown a fault, with its kind. Changes of the code change what happens in them, so each fault has a test of its own, too. */
const seeds: Record<string, number> = {
  "an agent dies before it has removed the files of an attempt, and the Run is elsewhere when the next one starts": 2101,
};

test.each(Object.entries(seeds))("%s", async (_, seed) => {
  const result = await simulate({ seed });
  if (result.violations.length > 0) expect.fail(await explainFailure(result, { seed }));
});
