import { closeSync, openSync, readFileSync } from "node:fs";
import type { Logger } from "#kube/ports.ts";
import { createLogger } from "#kube/system.ts";
import type { LogFile } from "../environment.ts";

/**
 * The log of the components of a cluster, kept in a file.
 *
 * @param verbose whether it goes to standard error, too
 */
export function openLogFile(path: string, verbose: boolean): LogFile {
  const file = openSync(path, "a", 0o600);
  const loggers = [createLogger("local", "info", file), ...(verbose ? [createLogger("local", "info")] : [])];
  const tee =
    (level: keyof Logger): Logger[keyof Logger] =>
    (message, fields) => {
      for (const logger of loggers) logger[level](message, fields);
    };
  return {
    logger: { debug: tee("debug"), info: tee("info"), warn: tee("warn"), error: tee("error") },
    tail: (lines) => readFileSync(path, "utf8").split("\n").filter(Boolean).slice(-lines),
    close: () => closeSync(file),
  };
}
