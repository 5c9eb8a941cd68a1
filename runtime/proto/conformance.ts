/**
 * What any Runtime Server must do, as checks that run against its socket. A custom server is tested with
 * {@link runConformance}; the built-in executor and the simulated one pass the same list in their tests.
 */
import { mkdirSync } from "node:fs";
import { type Clock, sleep } from "#kube/ports.ts";
import { systemClock } from "#kube/system-clock.ts";
import type { ExecuteRequest, ExecutionId, ExecutorClient } from "#runtime/executor-client.ts";
import { GrpcExecutorClient } from "#runtime/grpc-executor-client.ts";
import { cancelChecks } from "#runtime/proto/conformance-cancel.ts";
import { executeChecks } from "#runtime/proto/conformance-execute.ts";
import { watchChecks } from "#runtime/proto/conformance-watch.ts";
import { writeShellProgram } from "#runtime/proto/shell-program.ts";
import type { SimulatedProgram } from "#runtime/simulated-program.ts";

/** A server under test. */
export interface Subject {
  readonly client: ExecutorClient;
  /** A request for this program under the server's present boot id; each call makes a new Run unless an id is given. */
  request(program: SimulatedProgram, id?: Partial<ExecutionId>): Promise<ExecuteRequest>;
}

export interface Check {
  /** The rule, as a sentence. */
  readonly name: string;
  /** Rejects when the rule is broken. */
  run(subject: Subject): Promise<void>;
}

export const checks: readonly Check[] = [...executeChecks, ...watchChecks, ...cancelChecks];

export interface CheckResult {
  readonly name: string;
  /** Absent when the check passed. */
  readonly error?: Error;
}

/** No check needs more than a second or two of a server that works. */
const checkDeadlineMs = 20_000;

/**
 * Runs all checks, one after the other.
 *
 * @param directory where programs are put; the server must see it under the same path, and its container needs `sh` and `cat`.
 * @param wanted which checks to run; default all.
 */
export async function runConformance(
  socketPath: string,
  directory: string,
  wanted: (check: Check) => boolean = () => true,
): Promise<readonly CheckResult[]> {
  const client = new GrpcExecutorClient(socketPath);
  const subject = shellSubject(client, directory);
  const results: CheckResult[] = [];
  for (const check of checks.filter(wanted)) {
    const error = await withDeadline(check.run(subject), systemClock);
    results.push(error === undefined ? { name: check.name } : { name: check.name, error });
  }
  client.close();
  return results;
}

/** A server that runs real processes: programs become shell scripts below `directory`. */
export function shellSubject(client: ExecutorClient, directory: string): Subject {
  const unique = crypto.randomUUID();
  let made = 0;
  return {
    client,
    async request(program, id = {}) {
      const { bootId } = await client.health();
      const number = made++;
      const place = `${directory}/${unique}/${number}`;
      mkdirSync(place, { recursive: true });
      const ids = { runUid: id.runUid ?? `conformance-${unique}-${number}`, attempt: id.attempt ?? 1 };
      const common = { ...ids, bootId, workingDir: place, env: {} };
      if (program.startFailure !== undefined) return { ...common, args: [`${place}/no-such-program`] };
      return { ...common, interpreter: ["sh"], script: writeShellProgram(`${place}/program`, program), args: [] };
    },
  };
}

async function withDeadline(check: Promise<void>, clock: Clock): Promise<Error | undefined> {
  const over = new AbortController();
  const late = sleep(clock, checkDeadlineMs, over.signal).then(
    () => new Error(`took longer than ${checkDeadlineMs} ms`),
  );
  const outcome = check.then(
    () => undefined,
    (error) => (error instanceof Error ? error : new Error(String(error))),
  );
  return await Promise.race([outcome, late]).finally(() => over.abort());
}
