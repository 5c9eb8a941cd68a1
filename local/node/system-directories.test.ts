import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemReferences } from "#runtime/references/system-references.ts";
import { systemDirectories } from "./system-directories.ts";

let root = "";
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "directories-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

test("published values are what the agent reads, replaced as a whole, with nothing left of those before", async () => {
  const path = join(root, "secrets", "db");
  const read = async () => {
    const data = await systemReferences(root).read("Secret", "db");
    return data && Object.fromEntries([...data].map(([key, value]) => [key, Buffer.from(value).toString()]));
  };
  const publish = (values: Record<string, string>) =>
    systemDirectories.publish(path, new Map(Object.entries(values).map(([key, value]) => [key, Buffer.from(value)])));
  publish({ user: "ada", password: "one" });
  expect(await read()).toEqual({ user: "ada", password: "one" });
  publish({ password: "two" });
  expect(await read()).toEqual({ password: "two" });
  publish({});
  expect(await read()).toEqual({});
  expect(await readdir(path)).toHaveLength(2); // the values of now, and the link to them
  expect((await stat(path)).mode & 0o077).toBe(0);
});
