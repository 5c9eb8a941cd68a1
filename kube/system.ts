/** The real world behind the ports. Only adapters and process entries import this file. */
import { pino } from "pino";
import type { Logger } from "#kube/ports.ts";

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/**
 * A logger that writes JSON lines to stderr, so that stdout stays free for results. An `error` field that holds an
 * Error is written with its type, message, stack and causes.
 *
 * @param fd another file descriptor to write to
 */
export function createLogger(component: string, level: LogLevel = "info", fd = 2): Logger {
  const sink = pino(
    {
      level,
      base: { component },
      messageKey: "message",
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: pino.stdSerializers.errWithCause },
    },
    pino.destination({ fd, sync: true }),
  );
  return {
    debug: (message, fields) => sink.debug(fields ?? {}, message),
    info: (message, fields) => sink.info(fields ?? {}, message),
    warn: (message, fields) => sink.warn(fields ?? {}, message),
    error: (message, fields) => sink.error(fields ?? {}, message),
  };
}

export { silentLogger } from "#kube/silent-logger.ts";
export { systemClock } from "#kube/system-clock.ts";
export { systemRandom } from "#kube/system-random.ts";
