/** One rule of a specification and the tests that are said to prove it. */
export interface Rule {
  /** The first word of its row, e.g. `DS-12`. */
  readonly id: string;
  readonly tests: readonly NamedTest[];
  /** Line of the row, from 1. */
  readonly line: number;
}

/** `…` in a title stands for anything: what a table of cases fills in. */
export interface NamedTest {
  readonly file: string;
  readonly title: string;
}

/** A test that has run. */
export interface RanTest {
  readonly file: string;
  /** Alone, without the groups that it stands in: a group may try the same tests in several surroundings. */
  readonly title: string;
  readonly passed: boolean;
}

export interface Finding {
  readonly line: number;
  readonly message: string;
}

const row = /^\| ([A-Z]+-[A-Z]?\d+) (.+?) \| (.+) \|$/;
const named = /^`([^`]+)`: (.+)$/;

/**
 * The rules of a coverage page: rows `| ID sentence | tests |`, where tests are `` `file`: title `` joined by `<br>`.
 * A row that cannot be read is a finding, as are a rule without a test and an id that stands twice.
 */
export function parseCoverage(page: string): { rules: Rule[]; findings: Finding[] } {
  const rules: Rule[] = [];
  const findings: Finding[] = [];
  const ids = new Set<string>();
  for (const [index, text] of page.split("\n").entries()) {
    const line = index + 1;
    if (!/^\| [A-Z]+-[A-Z]?\d+/.test(text)) continue;
    const [, id = "", , cell = ""] = row.exec(text) ?? [];
    const tests: NamedTest[] = [];
    for (const item of cell.split("<br>")) {
      const [, file, title] = named.exec(item.trim()) ?? [];
      if (file === undefined || title === undefined) {
        findings.push({ line, message: `"${item.trim()}" is not of the form \`file\`: title` });
      } else {
        tests.push({ file, title: title.replaceAll("\\|", "|") });
      }
    }
    if (ids.has(id)) findings.push({ line, message: `${id} stands twice` });
    ids.add(id);
    rules.push({ id, tests, line });
  }
  return { rules, findings };
}

/**
 * Tests that do not exist. A title is looked for in the text of its file, part by part between `…`: what a table of
 * cases fills in stands elsewhere.
 *
 * @param read the text of a file, undefined when there is none
 */
export function checkExist(rules: readonly Rule[], read: (file: string) => string | undefined): Finding[] {
  const findings: Finding[] = [];
  for (const { id, tests, line } of rules) {
    for (const { file, title } of tests) {
      const text = read(file);
      if (text === undefined) findings.push({ line, message: `${id}: there is no file ${file}` });
      else if (!title.split("…").every((part) => text.includes(part.trim()))) {
        findings.push({ line, message: `${id}: ${file} has no test "${title}"` });
      }
    }
  }
  return findings;
}

/** Tests that were not among those that ran, or did not pass. */
export function checkRan(rules: readonly Rule[], ran: readonly RanTest[]): Finding[] {
  const byFile = Map.groupBy(ran, ({ file }) => file);
  const findings: Finding[] = [];
  for (const { id, tests, line } of rules) {
    for (const { file, title } of tests) {
      const pattern = patternOf(title);
      const found = (byFile.get(file) ?? []).filter((test) => pattern.test(test.title));
      if (found.length === 0) findings.push({ line, message: `${id}: "${title}" of ${file} did not run` });
      else if (!found.every(({ passed }) => passed)) {
        findings.push({ line, message: `${id}: "${title}" of ${file} failed` });
      }
    }
  }
  return findings;
}

function patternOf(title: string): RegExp {
  const parts = title.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "su");
}
