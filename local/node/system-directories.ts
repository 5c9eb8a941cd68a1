import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Directories } from "./node.ts";

/** Real directories, for their owner's eyes only. */
export const systemDirectories: Directories = {
  make(path) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  },
  async remove(path) {
    await rm(path, { recursive: true, force: true });
  },
  // As the kubelet does it: a directory for the values of now, and a link to it that is replaced.
  publish(path, values) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const link = join(path, "..data");
    const old = lstatSync(link, { throwIfNoEntry: false }) && readlinkSync(link);
    const next = mkdtempSync(`${path}/..`);
    for (const [key, value] of values) writeFileSync(join(next, key), value, { mode: 0o600 });
    const replacement = `${link}_tmp`;
    rmSync(replacement, { force: true });
    symlinkSync(basename(next), replacement);
    renameSync(replacement, link);
    if (old !== undefined) rmSync(join(path, old), { recursive: true, force: true });
  },
  async list(path) {
    try {
      return await readdir(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  },
};
