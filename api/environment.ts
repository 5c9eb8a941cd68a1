/** Names that we set ourselves in the environment of every Run, beside everything that begins with `KRUNTIME_`. */
const ours: ReadonlySet<string> = new Set(["HOME", "TMPDIR"]);

/** Beginning of the variables through which a Run and the platform talk. */
export const reservedPrefix = "KRUNTIME_";

/** Whether users may not set that variable: our value would win, and theirs would silently be lost. */
export function isReservedVariable(name: string): boolean {
  return name.startsWith(reservedPrefix) || ours.has(name);
}
