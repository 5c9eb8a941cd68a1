import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inject, main } from "#runtime/injector/main.ts";

const files = ["app/chunk.mjs", "app/kruntimes.mjs", "kruntimes", "lib/ld.so", "lib/libc.so.6", "node", "tini"];

async function world() {
  const directory = await mkdtemp(join(tmpdir(), "inject-"));
  const source = join(directory, "source");
  const target = join(directory, "target");
  for (const made of [join(source, "app"), join(source, "lib"), target]) await mkdir(made, { recursive: true });
  for (const file of files) {
    await writeFile(join(source, file), `first ${file}`);
    await chmod(join(source, file), 0o755);
  }
  return { source, target, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .sort();
}

test("everything is copied, executable and writable by nobody", async () => {
  await using made = await world();
  await inject(made.source, made.target);
  expect(await filesBelow(made.target)).toEqual(files);
  expect((await stat(join(made.target, "node"))).mode & 0o777).toBe(0o555);
});

test("a repeated injection replaces what is there, half-written files included", async () => {
  await using made = await world();
  await inject(made.source, made.target);
  await writeFile(join(made.target, "tini.new"), "half");
  await writeFile(join(made.source, "node"), "second node");
  await inject(made.source, made.target);
  expect(await readFile(join(made.target, "node"), "utf8")).toBe("second node");
  expect(await filesBelow(made.target)).toEqual(files);
});

test("an incomplete source is told before anything is copied", async () => {
  await using made = await world();
  await rm(join(made.source, "lib/ld.so"));
  await expect(inject(made.source, made.target)).rejects.toThrow(/source has no lib\/ld.so: .*image of the platform/);
  expect(await filesBelow(made.target)).toEqual([]);
});

test("a target that is not mounted is told with what to do", async () => {
  await using made = await world();
  await expect(inject(made.source, join(made.target, "none"))).rejects.toThrow(
    /none is no directory: mount the volume/,
  );
});

test("the flag is needed and spelled as the pool writes it", async () => {
  await expect(main([])).rejects.toThrow("kruntimes inject: --target is missing");
  await expect(main(["--to=/x"])).rejects.toThrow(/flags are --target/);
});

test("the sources are no image", async () => {
  await using made = await world();
  await expect(main([`--target=${made.target}`])).rejects.toThrow(/has no tini: inject works in the image/);
});
