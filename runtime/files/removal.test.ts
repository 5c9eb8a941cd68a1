/** Trees that somebody filled who wants them to stay, or something else to go. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSystemFiles } from "#runtime/files/system-files.ts";
import { canMount, mountBind, mountTmpfs, unmount } from "#test/support/mounts.ts";

let root = "";
const mounted: string[] = [];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "krt-tree-"));
  mkdirSync(join(root, "beside"));
  writeFileSync(join(root, "beside/file"), "beside");
});
afterEach(() => {
  for (const directory of mounted.splice(0)) unmount(directory);
  rmSync(root, { recursive: true, force: true });
});

const remove = async () => (await openSystemFiles(root)).remove(`${root}/tree`);

function expectOnlyTheOther(): void {
  expect(readdirSync(root)).toEqual(["beside"]);
  expect(readFileSync(join(root, "beside/file"), "utf8")).toBe("beside");
}

const deep = (name: string) => `${name}/${Array.from({ length: 70 }, () => "d").join("/")}`;

test("names that a removal might use for itself are in nobody's way", async () => {
  for (let n = 0; n < 12; n++) {
    mkdirSync(join(root, "tree", deep(`t${n}`)), { recursive: true });
    mkdirSync(join(root, `tree/.deep-${n}/full`), { recursive: true });
  }
  await remove();
  expectOnlyTheOther();
});

test("a very large directory and very many of them are removed", async () => {
  for (let n = 0; n < 500; n++) mkdirSync(join(root, `tree/many/${n}`), { recursive: true });
  for (let n = 0; n < 10_000; n++) writeFileSync(join(root, `tree/file-${n}`), "");
  await remove();
  expectOnlyTheOther();
});

/** Removes the tree in a process that no right of root helps over modes, as the agent is one. */
function removeWithoutRights(): void {
  const module = fileURLToPath(new URL("system-files.ts", import.meta.url));
  const program = `
    import { openSystemFiles } from ${JSON.stringify(module)};
    await (await openSystemFiles(${JSON.stringify(root)})).remove(${JSON.stringify(`${root}/tree`)});
  `;
  const node = [process.execPath, "--input-type=module", "--eval", program];
  const withoutRights = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", ...node];
  const [command = "", ...args] = process.getuid?.() === 0 ? withoutRights : node;
  execFileSync(command, args, { stdio: "pipe" });
}

test("modes that keep their own owner out stop nobody who owns them", () => {
  mkdirSync(join(root, "tree/closed/inner/deeper"), { recursive: true });
  mkdirSync(join(root, "tree/unreadable"), { recursive: true });
  for (const name of ["closed/inner/file", "closed/inner/deeper/file", "unreadable/file"]) {
    writeFileSync(join(root, "tree", name), "x", { mode: 0o000 });
  }
  execFileSync(
    "sh",
    [
      "-c",
      "chmod 000 closed/inner/deeper; chmod 111 closed/inner; chmod 000 closed; chmod 300 unreadable; chmod 500 .",
    ],
    {
      cwd: join(root, "tree"),
    },
  );
  removeWithoutRights();
  expectOnlyTheOther();
});

const mounts = {
  "another volume": (at: string) => mountTmpfs(at, 65_536),
  "another directory of the same volume": (at: string) => mountBind(join(root, "beside"), at),
};

test.runIf(canMount).each(Object.entries(mounts))(
  "%s that is mounted in a tree is not followed, and not removed; without it the tree is",
  async (_, mount) => {
    const at = join(root, "tree/a/mounted");
    mkdirSync(at, { recursive: true });
    mount(at);
    mounted.push(at);
    writeFileSync(join(at, "theirs"), "theirs");
    await expect(remove()).rejects.toThrow(`something is mounted at ${at}; unmount it`);
    expect(readFileSync(join(at, "theirs"), "utf8")).toBe("theirs");
    unmount(mounted.pop() ?? "");
    await remove();
    expect(readFileSync(join(root, "beside/file"), "utf8")).toBe("beside");
    expect(readdirSync(root)).toEqual(["beside"]);
  },
);
