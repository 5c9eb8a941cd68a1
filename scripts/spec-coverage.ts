/**
 * Checks docs/spec-coverage.md: every rule of the specifications names tests that exist and, given the JSON reports of
 * all suites, that have run and passed.
 *
 *   node scripts/spec-coverage.ts [REPORT...]
 */
import { readFileSync } from "node:fs";
import { checkExist, checkRan, parseCoverage } from "./spec-coverage/coverage.ts";
import { existingFile, ranTests } from "./spec-coverage/files.ts";

const page = "docs/spec-coverage.md";
const reports = process.argv.slice(2);
const { rules, findings } = parseCoverage(readFileSync(page, "utf8"));
findings.push(...checkExist(rules, existingFile));
if (reports.length > 0) findings.push(...checkRan(rules, reports.flatMap(ranTests)));
for (const { line, message } of findings) console.error(`${page}:${line}: ${message}`);
console.log(
  `${rules.length} rules, ${new Set(rules.flatMap(({ tests }) => tests.map(({ file, title }) => `${file} ${title}`))).size} tests`,
);
process.exitCode = findings.length === 0 ? 0 : 1;
