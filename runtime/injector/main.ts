/** `kruntimes inject`: brings the executor into a volume that is mounted into the user's container. Adapter: copies files. */
import { chmod, constants, copyFile, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { neededFlag, parseStrings, UsageError } from "#kube/process/flags.ts";

const component = "inject";

/** What the image must bring for the executor to start; collected when the image is built. */
const needed = ["tini", "kruntimes", "node", "lib/ld.so", "app/kruntimes.mjs"];

/** The folder of the image that is copied: the bundled program is in `app/` of it. */
const programs = dirname(import.meta.dirname);

export async function main(args: readonly string[]): Promise<void> {
  const target = neededFlag(component, "target", parseStrings(component, ["target"], args).target);
  await inject(programs, target);
}

/**
 * Copies `source` into `target`. Can be repeated: a container that is started again finds each file either old or new,
 * never in part.
 *
 * @throws UsageError with advice when the source is incomplete or the target cannot take it
 */
export async function inject(source: string, target: string): Promise<void> {
  for (const file of needed) {
    if ((await stat(join(source, file)).catch(() => undefined))?.isFile()) continue;
    throw new UsageError(component, `${source} has no ${file}: inject works in the image of the platform only`);
  }
  if (!(await stat(target).catch(() => undefined))?.isDirectory()) {
    throw new UsageError(component, `--target=${target} is no directory: mount the volume of the executor there`);
  }
  try {
    await copyInto(source, target);
  } catch (error) {
    throw new UsageError(component, explain(error, target));
  }
}

async function copyInto(source: string, target: string): Promise<void> {
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const from = join(source, entry.name);
    const to = join(target, entry.name);
    if (entry.isDirectory()) {
      await mkdir(to, { recursive: true });
      await copyInto(from, to);
    } else {
      await replace(from, to);
    }
  }
}

/** A program that runs cannot be written to, but it can be replaced. */
async function replace(from: string, to: string): Promise<void> {
  const unfinished = `${to}.new`;
  await rm(unfinished, { force: true });
  await copyFile(from, unfinished, constants.COPYFILE_FICLONE);
  await chmod(unfinished, (await stat(from)).mode & 0o555);
  await rename(unfinished, to);
}

function explain(error: unknown, target: string): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return `the volume at ${target} is full: the executor takes about 120 MB of the node's or the volume's space`;
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return `cannot write to ${target} (${code}): the Pod's fsGroup must be a group of user ${process.getuid?.()}`;
    default:
      return `cannot write to ${target}: ${message}`;
  }
}
