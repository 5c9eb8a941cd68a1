import { type FieldError, fieldPath } from "../field-error.ts";
import { qualifiedName } from "../names.ts";
import { wholeNumber } from "../quantity.ts";
import { invalid } from "./rule.ts";

/** Checks named amounts of logical capacity: whole numbers of 0 or more, and at least one place for Runs. */
export function checkAmounts(
  path: readonly string[],
  amounts: Readonly<Record<string, number | string>> | undefined,
): FieldError[] {
  return Object.entries(amounts ?? {}).flatMap(([name, amount]) => {
    const field = fieldPath(...path, name);
    if (!qualifiedName.test(name)) {
      return [
        invalid(field, `"${name}" cannot be the name of a resource`, "Use letters, digits, -, _ and . as in gpu."),
      ];
    }
    const value = wholeNumber(amount);
    if (value === undefined) {
      return [
        invalid(field, `${amount} is no whole number of 0 or more`, "Logical capacity is counted: write 1, 2, 3."),
      ];
    }
    if (name !== "runs" || value >= 1) return [];
    return [invalid(field, "every Run takes at least one place", "Write 1 or more, or leave runs out.")];
  });
}
