import { isReservedVariable } from "../environment.ts";
import type { Run } from "../kinds/run.ts";
import { forbidden, type Rule } from "./rule.ts";

/** Our own values win, so a user's value of the same name would silently be lost. */
export const runEnvironment: Rule<Run> = ({ spec }) =>
  (spec.env ?? []).flatMap(({ name }, index) =>
    isReservedVariable(name)
      ? [
          forbidden(
            `spec.env[${index}].name`,
            `${name} is set by the platform`,
            "Choose another name; names that begin with KRUNTIME_, HOME and TMPDIR are reserved.",
          ),
        ]
      : [],
  );
