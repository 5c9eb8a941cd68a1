import { expect, test } from "vitest";
import { silentLogger } from "#kube/silent-logger.ts";
import type { Environment } from "../environment.ts";
import { CliError, errorLines } from "../errors.ts";
import { fakeEnvironment, fakeFiles } from "../testing/fake-environment.ts";
import { joined, run, runtime } from "../testing/manifests.ts";
import { execute } from "./execute.ts";

/** An environment in which no cluster can start: its directory is not there. */
function setup() {
  const happened: string[] = [];
  const { env, out } = fakeEnvironment(fakeFiles({ "all.yaml": joined(runtime, run) }));
  const broken: Environment = {
    ...env,
    stateDirectories: {
      make: async () => "/nowhere/krt-1",
      remove: async (path) => void happened.push(`removed ${path}`),
      removeOnAbruptExit: () => () => void happened.push("exit is no longer watched"),
    },
    openLogFile: async (path) => ({
      logger: silentLogger,
      tail: (lines) => [`the last of ${lines} lines of ${path}`],
      close: () => void happened.push("log closed"),
    }),
  };
  const start = (keep: boolean) => {
    const options = { namespace: undefined, follow: false, keep, verbose: false, timeoutMs: 1000, set: {} };
    return execute(["all.yaml"], options, broken).catch((error: unknown) => error);
  };
  return { start, happened, out };
}

test("a cluster that cannot start is told as such, with the end of its log", async () => {
  const { start, happened } = setup();
  const error = await start(false);
  expect(error).toBeInstanceOf(CliError);
  expect((error as CliError).exitCode).toBe(4);
  expect(errorLines(error as CliError)).toEqual([
    expect.stringMatching(/^krt: the local cluster failed: .*(ENOENT|unable to open)/),
    "     the last of 20 lines of /nowhere/krt-1/cluster.log",
    "     This is no fault of your files. Run it again with --keep --verbose to see more.",
  ]);
  expect(happened).toEqual(["log closed", "removed /nowhere/krt-1", "exit is no longer watched"]);
});

test("a directory that is to be kept is kept then, too", async () => {
  const { start, happened, out } = setup();
  await start(true);
  expect(happened).toEqual(["log closed"]);
  expect(out.take()[0]).toBe("Kept /nowhere/krt-1; remove it when you are done with it.");
});
