import { mkdirSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import type { Directories } from "./node.ts";

/** Real directories, for their owner's eyes only. */
export const systemDirectories: Directories = {
  make(path) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  },
  async remove(path) {
    await rm(path, { recursive: true, force: true });
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
