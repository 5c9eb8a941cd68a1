import type { Run } from "../kinds/run.ts";
import { checkAmounts } from "./amounts.ts";
import type { Rule } from "./rule.ts";

export const runResources: Rule<Run> = ({ spec }) =>
  checkAmounts(["spec", "resources", "requests"], spec.resources?.requests);
