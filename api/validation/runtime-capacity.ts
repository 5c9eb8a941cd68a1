import type { Runtime } from "../kinds/runtime.ts";
import { checkAmounts } from "./amounts.ts";
import type { Rule } from "./rule.ts";

export const runtimeCapacity: Rule<Runtime> = ({ spec }) =>
  checkAmounts(["spec", "capacity", "resources"], spec.capacity?.resources);
