/** Adapter: log lines as JSON on stderr, in the form of `kube/system.ts` but without its library, which costs the executor 7 MB. */
import type { Logger } from "#kube/ports.ts";

export function createStderrLogger(component: string): Logger {
  const write = (level: "info" | "warn" | "error", message: string, fields: Readonly<Record<string, unknown>> = {}) => {
    const plain = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plainOf(value)]));
    const record = { level, time: new Date(Date.now()).toISOString(), component, ...plain, message };
    process.stderr.write(`${JSON.stringify(record)}\n`);
  };
  return {
    debug: () => {}, // as the default level of the other components
    info: (message, fields) => write("info", message, fields),
    warn: (message, fields) => write("warn", message, fields),
    error: (message, fields) => write("error", message, fields),
  };
}

function plainOf(value: unknown): unknown {
  return value instanceof Error ? { type: value.name, message: value.message, stack: value.stack } : value;
}
