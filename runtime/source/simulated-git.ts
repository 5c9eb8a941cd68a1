import type { Files } from "#runtime/files/port.ts";
import { type GitFetcher, SourceFailedError } from "#runtime/source/port.ts";

/** Repositories as data: by URL, then by ref (`HEAD` when none is asked for), the files by path. */
export type SimulatedRepositories = Readonly<
  Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>
>;

/** A {@link GitFetcher} for the simulation, which writes what it is given. The commit id is the name of the ref. */
export function createSimulatedGit(files: Files, repositories: SimulatedRepositories): GitFetcher {
  return {
    async fetch({ url, ref = "HEAD", directory }, signal) {
      signal?.throwIfAborted();
      const tree = repositories[url]?.[ref];
      if (tree === undefined) throw new SourceFailedError(`could not fetch ${ref} of ${url}: no such ref`);
      for (const [path, content] of Object.entries(tree)) {
        const slash = path.lastIndexOf("/");
        if (slash > 0) await files.makeDirectory(`${directory}/${path.slice(0, slash)}`);
        await files.writeFile(`${directory}/${path}`, Buffer.from(content), 0o755);
      }
      return { commit: ref };
    },
  };
}
