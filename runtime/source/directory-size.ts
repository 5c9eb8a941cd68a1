/** Watches a directory that another process fills. Adapter: touches the system. */
import { lstat, readdir } from "node:fs/promises";
import type { Cancel, Clock } from "#kube/ports.ts";

/** How often the size is looked at while something is fetched: at 1 Gbit/s about 25 MB come in between. */
const intervalMs = 200;

/** Bytes of all files below a directory; it may change meanwhile, and links are not followed. */
export async function directorySize(path: string, limit: number): Promise<number> {
  let total = 0;
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const child = `${path}/${entry.name}`;
    total += entry.isDirectory() ? await directorySize(child, limit - total) : await fileSize(child);
    if (total > limit) break;
  }
  return total;
}

async function fileSize(path: string): Promise<number> {
  const info = await lstat(path).catch(() => undefined);
  return info?.size ?? 0;
}

/** Calls `onExceeded` once when the directory holds more than `maxBytes`, until it is cancelled. */
export function watchSize(clock: Clock, path: string, maxBytes: number, onExceeded: () => void): Cancel {
  let stopped = false;
  let cancel: Cancel = () => {};
  const look = async () => {
    const size = await directorySize(path, maxBytes);
    if (stopped) return;
    if (size > maxBytes) onExceeded();
    else cancel = clock.after(intervalMs, () => void look());
  };
  cancel = clock.after(intervalMs, () => void look());
  return () => {
    stopped = true;
    cancel();
  };
}
