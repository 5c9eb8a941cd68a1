import { readdir, readFile, stat } from "node:fs/promises";
import type { InputFiles } from "../environment.ts";

export const systemFiles: InputFiles = {
  async list(path) {
    const info = await stat(path);
    return info.isDirectory() ? readdir(path) : undefined;
  },
  read: (path) => readFile(path),
  async readInput() {
    const chunks: Uint8Array[] = [];
    for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
    return Buffer.concat(chunks);
  },
};
