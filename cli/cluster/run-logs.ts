import { createLogs, type LogItem, type RunLogOptions } from "#extension-api/client/logs.ts";
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
  const onTrouble = ({ message }: Error) =>
    env.err.write(
      `krt: the log of Run ${name} is interrupted: ${message}; it goes on where it was as soon as it can\n`,
    );
  const logs = createLogs({ transport: client.transport, clock: env.clock, random: env.random, onTrouble });
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
