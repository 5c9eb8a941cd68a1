import { rmSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StateDirectories } from "../environment.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { maxStatePath } from "../local/state-directory.ts";

export const systemStateDirectories: StateDirectories = {
  async make() {
    for (const parent of [tmpdir(), "/tmp"]) {
      const prefix = join(await realpath(parent).catch(() => parent), "krt-");
      if (Buffer.byteLength(prefix) + 6 > maxStatePath) continue;
      try {
        return await mkdtemp(prefix);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new CliError(`no temporary directory can be made: ${why}`, {
          advice: "Set TMPDIR to a directory that you may write to.",
          exitCode: exitCodes.platform,
          cause: error,
        });
      }
    }
    throw new CliError("the path of the temporary directory is too long for sockets", {
      advice: `Set TMPDIR to a directory with a path of at most ${maxStatePath - 11} bytes.`,
      exitCode: exitCodes.platform,
    });
  },
  remove: (path) => rm(path, { recursive: true, force: true, maxRetries: 3 }),
  removeOnAbruptExit(path) {
    const remove = () => {
      try {
        rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
      } catch {
        // Processes of Pods that are just ending may still write into it.
        process.stderr.write(`krt: ${path} could not be removed\n`);
      }
    };
    process.once("exit", remove);
    return () => process.off("exit", remove);
  },
};
