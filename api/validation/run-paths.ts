import type { FieldError } from "../field-error.ts";
import type { Run } from "../kinds/run.ts";
import { checkRelativePath, pathsOverlap } from "../paths.ts";
import { duplicate, invalid, type Rule } from "./rule.ts";

/** Paths stay below the working directory and out of ours; two artifacts never share a place. */
export const runPaths: Rule<Run> = ({ spec }) => {
  const inputs = spec.artifactInputs ?? [];
  return [
    ...checkPath("spec.source.inlinePath", spec.source?.inlinePath),
    ...checkPath("spec.mode.task.entrypoint", spec.mode?.task?.entrypoint),
    ...inputs.flatMap(({ path }, index) => checkPath(`spec.artifactInputs[${index}].path`, path)),
    ...inputs.flatMap(({ path }, index) => {
      const twin = inputs.findIndex((other) => pathsOverlap(other.path, path));
      if (twin === index) return [];
      return [
        duplicate(
          `spec.artifactInputs[${index}].path`,
          `"${path}" and "${inputs[twin]?.path}" of artifactInputs[${twin}] are in each other's way`,
          "Give each artifact a place of its own.",
        ),
      ];
    }),
  ];
};

function checkPath(field: string, path: string | undefined): FieldError[] {
  const violation = path === undefined ? undefined : checkRelativePath(path);
  return violation === undefined ? [] : [invalid(field, violation.message, violation.advice)];
}
