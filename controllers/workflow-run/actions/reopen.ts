import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { formerInstances, reopen } from "#machines/job-status.ts";
import { instanceKey } from "#workflows/matrix.ts";
import { instanceKeys, type Placed, type Rerun } from "#workflows/retry-set.ts";
import { memberOf } from "#workflows/values.ts";
import { newInstance, stillFormer } from "../instances.ts";

type Jobs = Readonly<Record<string, JobStatus>>;

/**
 * The jobs of a run that goes on: those of the set with another attempt, the others as they were.
 *
 * @param runAttempt the attempt of the run that begins
 */
export function reopenJobs(jobs: Jobs, set: ReadonlyMap<string, Rerun>, runAttempt: number): Record<string, JobStatus> {
  const next = { ...jobs };
  for (const [id, rerun] of set) {
    const old = memberOf(jobs, id);
    if (old === undefined) continue;
    const keys = instanceKeys(jobs, id);
    for (const key of keys) delete next[key];
    if (keys.length === 0) next[id] = reopen(old, { runAttempt, attempt: (old.attempt ?? 0) + 1 });
    else Object.assign(next, reopenMatrix(jobs, id, old, rerun, runAttempt));
  }
  return next;
}

/** A job with a matrix and those of its instances that are known by now. */
function reopenMatrix(jobs: Jobs, id: string, old: JobStatus, rerun: Rerun, runAttempt: number): Jobs {
  const instances = instanceKeys(jobs, id).flatMap((key) => {
    const instance = memberOf(jobs, key);
    return instance === undefined ? [] : [[key, instance] as const];
  });
  // Names of children have the number of the attempt in them, and an instance may get the id of another one: no number comes again.
  const highest = Math.max(old.attempt ?? 1, ...instances.map(([, { attempt = 0 }]) => attempt));
  const opened = { runAttempt, attempt: highest + 1 };
  const stay = rerun === "all" ? new Set() : new Set(rerun.map(({ from }) => from));
  const left = instances.filter(([key]) => !stay.has(key));
  const { former: _, ...rest } = reopen({ ...old, attempt: highest }, opened);
  const group: JobStatus = { ...rest, ...formerInstances(old.former, left) };
  if (rerun === "all") return { [id]: group };
  const placed = rerun.map((each, index) => [instanceKey(id, index), place(jobs, group, each)] as const);
  const { startTime } = old;
  const { former = [], ...fields } = group;
  const known = stillFormer(former, rerun);
  const begun: JobStatus = {
    ...fields,
    phase: "Running",
    ...(known.length > 0 && { former: known }),
    instances: rerun.length,
    ...(startTime !== undefined && { startTime }),
  };
  return { [id]: begun, ...Object.fromEntries(placed) };
}

function place(jobs: Jobs, group: JobStatus, { values, from, runs }: Placed): JobStatus {
  const old = from === undefined ? undefined : memberOf(jobs, from);
  if (old === undefined) return newInstance(group, values);
  if (!runs) return old;
  const { attempt = 1, opened = { runAttempt: 1, attempt } } = group;
  return { ...reopen(old, opened), attempt };
}
