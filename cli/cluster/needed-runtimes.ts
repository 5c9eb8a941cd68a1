import { runtimes } from "#api/resources.ts";
import { isNotFound } from "#kube/transport.ts";
import { maxLevels } from "#workflows/uses.ts";
import { CliError } from "../errors.ts";
import { entries, member } from "../manifests/members.ts";
import { clusterError } from "./errors.ts";
import type { Session } from "./session.ts";

/** @throws StatusError 404 about the Runtime when there is none of that name: what needs it would only wait for it */
export async function requireRuntime(name: string, { client, namespace }: Session): Promise<void> {
  try {
    await client.of(runtimes).get({ name, namespace });
  } catch (error) {
    // Who may not look at Runtimes may still use them.
    if (isNotFound(error)) throw error;
  }
}

/** A Runtime that a job is going to wait for. */
export interface Need {
  /** The job, and before it the jobs that lead to it: `call/build`. */
  readonly job: string;
  readonly runtime: string;
}

/**
 * The Runtimes of the jobs that run for certain: those without a condition, on a Runtime that no expression chooses.
 *
 * @param jobs as a file has them, which nobody may have checked
 * @param jobsOf the jobs of a Workflow; undefined where it cannot be read
 */
export async function neededRuntimes(
  jobs: unknown,
  jobsOf: (workflow: string) => Promise<unknown>,
  path: readonly string[] = [],
): Promise<Need[]> {
  const needs: Need[] = [];
  for (const [id, job] of certain(entries(jobs))) {
    const [runtime, uses] = [member(job, "runs-on"), member(job, "uses")];
    const here = [...path, id];
    if (typeof runtime === "string" && !runtime.includes("${{")) needs.push({ job: here.join("/"), runtime });
    if (typeof uses === "string" && here.length < maxLevels) {
      needs.push(...(await neededRuntimes(await jobsOf(uses), jobsOf, here)));
    }
  }
  return needs;
}

/** A job with a condition may be skipped, and what needs it with it. */
function certain(jobs: readonly [string, unknown][]): [string, unknown][] {
  const found = new Map<string, unknown>();
  const isReady = ([id, job]: [string, unknown]) => {
    const needs = member(job, "needs") ?? [];
    return (
      !found.has(id) && member(job, "if") === undefined && Array.isArray(needs) && needs.every((n) => found.has(n))
    );
  };
  for (let ready = jobs.filter(isReady); ready.length > 0; ready = jobs.filter(isReady)) {
    for (const [id, job] of ready) found.set(id, job);
  }
  return jobs.filter(([id]) => found.has(id));
}

/**
 * @param known Runtimes that need not be looked for
 * @param of what the jobs belong to, where that goes without saying not: ` of Workflow ci`
 * @throws CliError naming the Runtimes that are not there, and the jobs that would wait for them
 */
export async function requireRuntimes(
  needs: readonly Need[],
  known: ReadonlySet<string>,
  session: Session,
  of = "",
): Promise<void> {
  const names = [...new Set(needs.map(({ runtime }) => runtime))].filter((name) => !known.has(name));
  const checks = names.map(async (name) => {
    const error: unknown = await requireRuntime(name, session).catch((thrown: unknown) =>
      clusterError(thrown, session),
    );
    if (error === undefined) return [];
    if (!(error instanceof CliError)) throw error;
    const jobs = needs.filter(({ runtime }) => runtime === name).map(({ job }) => job);
    return [
      { error, text: `${jobs.length > 1 ? "jobs" : "job"} ${jobs.join(", ")}${of} cannot run: ${error.message}` },
    ];
  });
  const [first, ...more] = (await Promise.all(checks)).flat();
  if (first === undefined) return;
  const { advice, exitCode } = first.error;
  throw new CliError(first.text, {
    details: more.map(({ text }) => text),
    exitCode,
    cause: first.error,
    ...(advice !== undefined && { advice }),
  });
}
