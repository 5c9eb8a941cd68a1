import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemReferences } from "./system-references.ts";

let root = "";
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "references-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Puts values in place as a kubelet does: a new directory, and a link that is replaced at once. */
async function mount(name: string, version: string, values: Record<string, string>): Promise<string> {
  const directory = join(root, "secrets", name);
  await mkdir(join(directory, `..${version}`), { recursive: true });
  for (const [key, value] of Object.entries(values)) {
    await writeFile(join(directory, `..${version}`, key), value);
    await symlink(join("..data", key), join(directory, key)).catch(() => {});
  }
  await symlink(`..${version}`, join(directory, "..data_tmp"));
  await rename(join(directory, "..data_tmp"), join(directory, "..data"));
  return directory;
}

const read = async (name: string) => {
  const data = await systemReferences(root).read("Secret", name);
  return data && Object.fromEntries([...data].map(([key, value]) => [key, Buffer.from(value).toString()]));
};

test("values are read as they are now", async () => {
  const directory = await mount("db", "1", { user: "ada", password: "one" });
  expect(await read("db")).toEqual({ user: "ada", password: "one" });
  await mount("db", "2", { password: "two" });
  await rm(join(directory, "..1"), { recursive: true });
  expect(await read("db")).toEqual({ password: "two" });
});

test("an object that is not there is empty, one that is not listed is none", async () => {
  await mkdir(join(root, "secrets", "later"), { recursive: true });
  expect(await read("later")).toEqual({});
  await mount("gone", "1", {});
  expect(await read("gone")).toEqual({});
  expect(await read("other")).toBeUndefined();
  expect(await systemReferences(root).read("ConfigMap", "db")).toBeUndefined();
});

test("values that are replaced while they are read are read anew", async () => {
  await mount("busy", "0", { a: "0", b: "0" });
  for (let n = 1; n < 60; n++) {
    const reading = read("busy");
    const directory = await mount("busy", String(n), { a: String(n), b: String(n) });
    await rm(join(directory, `..${n - 1}`), { recursive: true });
    const values = await reading;
    expect(values?.a).toBeDefined();
    expect(values?.a).toBe(values?.b);
  }
});
