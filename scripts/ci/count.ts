/**
 * Prints `PASSED FAILED` of a vitest JSON report. A run that ended badly without a failed test (a suite that does not
 * load, an unhandled error) and a skipped test count as failures: nothing is skipped silently.
 */
import { readFileSync } from "node:fs";

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
}

const [path = "", code = "1"] = process.argv.slice(2);
const report = JSON.parse(readFileSync(path, "utf8")) as Report;
let failed = report.numFailedTests + report.numPendingTests + report.numTodoTests;
if (failed === 0 && code !== "0") failed = 1;
console.log(`${report.numPassedTests} ${failed}`);
