import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import type { Environment, InputFiles } from "../environment.ts";
import { Capture } from "./capture.ts";

/** Files by path; a path that ends with `/` is a directory. */
export function fakeFiles(files: Readonly<Record<string, string | Uint8Array>>, input = ""): InputFiles {
  const missing = (path: string) => Object.assign(new Error(`no such file: ${path}`), { code: "ENOENT" });
  return {
    async list(path) {
      const prefix = path.endsWith("/") ? path : `${path}/`;
      const names = Object.keys(files).filter((name) => name.startsWith(prefix));
      if (names.length > 0) return names.map((name) => name.slice(prefix.length)).filter((name) => name !== "");
      if (files[path] === undefined) throw missing(path);
      return undefined;
    },
    async read(path) {
      const content = files[path];
      if (content === undefined) throw missing(path);
      return typeof content === "string" ? new TextEncoder().encode(content) : content;
    },
    readInput: async () => new TextEncoder().encode(input),
  };
}

/** An environment without a world: nothing can be started in it. */
export function fakeEnvironment(files: InputFiles = fakeFiles({})) {
  const out = new Capture();
  const err = new Capture();
  const never = () => {
    throw new Error("no cluster may be started here");
  };
  const env: Environment = {
    out,
    err,
    files,
    stateDirectories: { make: never, remove: never, removeOnAbruptExit: never },
    openLogFile: async () => ({ logger: silentLogger, tail: () => [], close: () => {} }),
    clock: new VirtualClock(),
    random: seededRandom(1),
    interrupted: new AbortController().signal,
    onSecondInterrupt: () => () => {},
    ask: async () => undefined,
    variables: {},
    invokedAs: "krt",
    connect: never,
    contexts: async () => ["here", "there"],
    downloads: { exists: never, openPartial: never },
    machine: { makeDirectory: never, spawn: never, signal: never, isAlive: never, crash: never },
    version: "1.2.3",
    entry: [],
  };
  return { env, out, err };
}
