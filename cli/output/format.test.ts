import { expect, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import { runs } from "#api/resources.ts";
import { aRun, at, start } from "../testing/objects.ts";
import { parseFormat, type ShowOptions, show } from "./format.ts";

const ended = {
  phase: "Failed",
  reason: "ExitNonZero",
  attempt: 2,
  duration: "1.5s",
  message: "exit code 7:\nno",
} as const;
const run: Run = {
  ...aRun("hello", ended),
  metadata: { ...aRun("hello", ended).metadata, creationTimestamp: at(-95) },
};
const fresh = aRun("a-longer-name", undefined);

function shown(format: string | undefined, change: Partial<ShowOptions> = {}, objects: readonly Run[] = [run]) {
  return show(objects, { resource: runs, format: parseFormat(format), now: start, list: false, ...change });
}

test("a table has the columns of kubectl, as wide as they need to be", async () => {
  expect(await shown(undefined, {}, [run, fresh])).toBe(
    [
      "NAME            RUNTIME   PHASE    REASON        POD   AGE",
      "hello           bash      Failed   ExitNonZero         95s",
      "a-longer-name   bash                                   <unknown>",
      "",
    ].join("\n"),
  );
});

test("wide has all columns, and no value breaks its line", async () => {
  expect(await shown("wide")).toMatch(/ AGE +ATTEMPT +DURATION +MESSAGE\n.* 95s +2 +1\.5s +exit code 7:\\nno\n$/);
});

test("with all namespaces the first column is the namespace", async () => {
  expect(await shown(undefined, { allNamespaces: true })).toMatch(/^NAMESPACE +NAME .*\ndefault +hello /);
});

const typed = { apiVersion: "kruntimes.io/v1alpha1", kind: "Run", ...run };

test("data has the type of each object, and a List where a list was asked for", async () => {
  expect(JSON.parse(await shown("json"))).toEqual(typed);
  expect(JSON.parse(await shown("json", { list: true }))).toEqual({
    apiVersion: "v1",
    kind: "List",
    metadata: {},
    items: [typed],
  });
  expect(await shown("yaml")).toMatch(/^apiVersion: kruntimes\.io\/v1alpha1\nkind: Run\nmetadata:\n/);
  expect(await shown("name")).toBe("run.kruntimes.io/hello\n");
  expect(await shown("jsonpath={.status.phase}")).toBe("Failed");
});

test("a format that does not exist", async () => {
  expect(() => parseFormat("jsno")).toThrow(expect.objectContaining({ advice: "Did you mean json?" }));
  expect(() => parseFormat("xml")).toThrow("there is no output format xml");
});
