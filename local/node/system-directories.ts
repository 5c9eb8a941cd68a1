import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { Directories } from "./node.ts";

export const systemDirectories: Directories = {
  make(path) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  },
  async remove(path) {
    await rm(path, { recursive: true, force: true });
  },
};
