import { createLogs, type LogItem, type RunLogOptions } from "#extension-api/client/logs.ts";
import type { Environment } from "../environment.ts";
import { logError } from "./log-errors.ts";
import type { Session } from "./session.ts";

/**
 * The records of a Run's log, oldest first.
 *
 * @throws CliError for what is special about logs; the other failures are those of every call
 */
export async function readLog(
  name: string,
  options: RunLogOptions,
  { client, namespace, env }: Session,
  signal?: AbortSignal,
): Promise<AsyncIterable<LogItem>> {
  const logs = createLogs({ transport: client.transport, clock: env.clock, random: env.random });
  const told = (error: unknown) => logError(error, name, { namespace });
  const items = await logs
    .getLogs(namespace, name, options)
    .stream(signal)
    .catch((error: unknown) => {
      throw told(error);
    });
  return explained(items, told);
}

async function* explained(items: AsyncIterable<LogItem>, told: (error: unknown) => unknown): AsyncGenerator<LogItem> {
  try {
    yield* items;
  } catch (error) {
    throw told(error);
  }
}

/**
 * Writes what a Run wrote where it wrote it, byte for byte; words of the platform go to standard error.
 *
 * @param timestamps whether each line begins with its time
 */
export function writeItem(item: LogItem, { out, err }: Pick<Environment, "out" | "err">, timestamps = false): void {
  const before = timestamps ? `${item.time} ` : "";
  if (item.stream === "system") {
    err.write(`${before}* ${item.message}\n`);
    return;
  }
  const stream = item.stream === "stderr" ? err : out;
  const end = item.partial ? "" : "\n";
  if (item.encoding === undefined) stream.write(`${before}${item.message}${end}`);
  else stream.write(Buffer.concat([Buffer.from(before), Buffer.from(item.message, "base64"), Buffer.from(end)]));
}
