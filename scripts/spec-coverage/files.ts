import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import type { RanTest } from "./coverage.ts";

/** Text of a file of the repository. */
export const existingFile = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, "utf8") : undefined;

/** The parts of a vitest JSON report that matter here. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
  }[];
}

/** The tests of a vitest JSON report; files relative to the repository. */
export function ranTests(reportFile: string): RanTest[] {
  const { testResults } = JSON.parse(readFileSync(reportFile, "utf8")) as Report;
  return testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ title, status }) => ({
      file: relative(process.cwd(), name),
      title,
      passed: status === "passed",
    })),
  );
}
