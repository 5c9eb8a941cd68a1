import { sleep } from "#kube/ports.ts";
import { type RunningCluster, runningCluster } from "#local/state/endpoint.ts";
import { inCluster } from "../cluster/session.ts";
import { type AddCommand, withExamples } from "../commands/command.ts";
import type { Environment } from "../environment.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { parseRuntimes, provideRuntimes } from "./runtimes.ts";
import { startLocal } from "./start.ts";
import { kubeconfigOf, logOf, stateDirectory } from "./state-directory.ts";
import { type StateFlags, withStateOption } from "./state-option.ts";

interface Flags extends StateFlags {
  readonly detach?: true;
  readonly runtimes?: string;
  readonly verbose?: true;
}

type Runtimes = ReturnType<typeof parseRuntimes>;

/** Longest time until a cluster in the background answers, in milliseconds. */
const startPatienceMs = 60_000;

/** How often it is looked for, in milliseconds. */
const lookMs = 50;

/** Lines of the log that are shown when it fails. */
const logTail = 20;

/** `krt local up` */
export const addUp: AddCommand = (parent, env, end) => {
  const command = parent
    .command("up")
    .summary("start a cluster that keeps its state")
    .description(
      "Starts a cluster on this machine and writes a kubeconfig for kubectl and krt. What it knows survives its end, and the " +
        "end of its process. Without --detach it runs until Ctrl-C.",
    )
    .option("-d, --detach", "leave it running in the background, and print the path of its kubeconfig")
    .option("--runtimes <names>", "Runtimes to make in namespace default, of bash and python, e.g. bash,python")
    .option("--verbose", "show the log of the cluster, too; without --detach")
    .action(async (flags: Flags) => {
      const directory = stateDirectory(flags.stateDir, env.variables);
      const runtimes = flags.runtimes === undefined ? [] : parseRuntimes(flags.runtimes);
      const up = flags.detach ? detached : foreground;
      end(await up(directory, runtimes, flags.verbose === true, env));
    });
  withExamples(withStateOption(command), env, "local up", [
    ["In the background, with a Runtime", "local up --detach --runtimes bash"],
    ["Then, with kubectl or krt", "run -- echo hello"],
    ["Two clusters side by side", "local up --detach --state-dir /tmp/other"],
  ]);
};

async function foreground(
  directory: string,
  runtimes: Runtimes,
  verbose: boolean,
  env: Environment,
): Promise<ExitCode> {
  const path = await env.machine.makeDirectory(directory);
  await livingCluster(path, env);
  const log = await env.openLogFile(logOf(path), verbose);
  try {
    const cluster = await startLocal(path, "sqlite", env, log.logger);
    try {
      await provideRuntimes(runtimes, { ...env, client: cluster.client }, env.interrupted);
      if (!env.interrupted.aborted) env.out.write(readyText(cluster.kubeconfig));
      await aborted(env.interrupted);
    } finally {
      await cluster.stop();
    }
    return exitCodes.succeeded;
  } finally {
    log.close();
  }
}

const readyText = (kubeconfig: string) =>
  `The cluster is ready; Ctrl-C stops it. In another terminal:\n  export KUBECONFIG=${kubeconfig}\n`;

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

async function detached(directory: string, runtimes: Runtimes, _verbose: boolean, env: Environment): Promise<ExitCode> {
  const path = await env.machine.makeDirectory(directory);
  const before = await livingCluster(path, env);
  if (before === undefined) await spawnCluster(path, env);
  else env.err.write(`It runs already, as process ${before.pid}.\n`);
  await inCluster({ kubeconfig: kubeconfigOf(path) }, env, ({ client }) =>
    provideRuntimes(runtimes, { ...env, client }, env.interrupted),
  );
  env.out.write(`${kubeconfigOf(path)}\n`);
  return env.interrupted.aborted ? exitCodes.interrupted : exitCodes.succeeded;
}

/** The cluster that runs there. One that was killed holds its directory for a moment longer: until the last thread has gone. */
async function livingCluster(path: string, { clock, machine }: Environment): Promise<RunningCluster | undefined> {
  const deadline = clock.monotonic() + startPatienceMs;
  for (;;) {
    const running = runningCluster(path);
    const isDying = typeof running?.pid === "number" && !machine.isAlive(running.pid);
    if (!isDying || clock.monotonic() > deadline) return running;
    await sleep(clock, lookMs);
  }
}

/** Starts the cluster in a process of its own, and resolves when it answers. */
async function spawnCluster(path: string, env: Environment): Promise<RunningCluster> {
  const { clock, machine } = env;
  const { pid, ended } = machine.spawn(["local", "up", "--state-dir", path], logOf(path));
  let end: string | undefined;
  void ended.then((why) => {
    end = why;
  });
  const deadline = clock.monotonic() + startPatienceMs;
  while (end === undefined && clock.monotonic() < deadline) {
    const running = runningCluster(path);
    if (running?.server !== undefined && running.pid === pid) return running;
    await sleep(clock, lookMs);
  }
  machine.signal(pid, "SIGTERM");
  const log = await env.openLogFile(logOf(path), false);
  const details = log.tail(logTail);
  log.close();
  throw new CliError(
    `the local cluster did not start: ${end ?? `it does not answer after ${startPatienceMs / 1000}s`}`,
    {
      details,
      advice: `Its log is ${logOf(path)}.`,
      exitCode: exitCodes.platform,
    },
  );
}
