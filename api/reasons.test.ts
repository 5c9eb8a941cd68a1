import { expect, test } from "vitest";
import { finalRunFailures, reasonGroups, reasons, retryableRunFailures, runFailureReasons } from "./reasons.ts";

test("every reason is one word with a sentence of meaning and one of advice", () => {
  for (const [name, { meaning, advice }] of Object.entries(reasons)) {
    expect(name).toMatch(/^[A-Z][A-Za-z]{2,62}$/);
    expect(meaning, name).toMatch(/^[A-Z].*\.$/);
    expect(advice, name).toMatch(/^[A-Z].*\.$/);
  }
});

test("every reason is in one group, WorkspaceLost in two: a Run waits for it or fails by it", () => {
  const grouped = reasonGroups.flatMap((group) => group.reasons);
  const twice = grouped.filter((name, index) => grouped.indexOf(name) !== index);
  expect(twice).toEqual(["WorkspaceLost"]);
  expect(new Set(grouped)).toEqual(new Set(Object.keys(reasons)));
});

test("every failure either can be cured by another attempt or never is retried", () => {
  expect([...retryableRunFailures, ...finalRunFailures].sort()).toEqual([...runFailureReasons].sort());
  expect(retryableRunFailures).toContain("PodDeleted");
  expect(retryableRunFailures).not.toContain("Cancelled");
});
