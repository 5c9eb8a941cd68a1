import type { JobSpec, StepSpec } from "#api/kinds/job.ts";
import { checkRelativePath, type PathViolation, pathsOverlap } from "#api/paths.ts";
import { duplicate, invalid } from "#api/validation/rule.ts";
import { type FieldError, listOf, under } from "./field-error.ts";
import type { JobGraph } from "./graph.ts";

/** An artifact of another job that a step takes. */
export interface ArtifactReference {
  /** The producing job. */
  readonly job: string;
  /** Name of the artifact in that job. */
  readonly name: string;
  /** Where it goes, relative to the working directory. */
  readonly path: string;
}

const form = /^jobs\.([A-Za-z][A-Za-z0-9_-]{0,62})\.artifacts\.(.+)$/s;

/**
 * The parts of `jobs.JOB.artifacts.NAME`. A job id has no dot, so everything after `.artifacts.` is the name, dots included.
 * `undefined` when the text has another form.
 */
export function parseArtifactReference(from: string): { job: string; name: string } | undefined {
  const match = form.exec(from);
  const [, job, name] = match ?? [];
  return job === undefined || name === undefined ? undefined : { job, name };
}

/**
 * The artifacts that a step takes, checked as far as the spec tells: the form, the producing job (a direct need with steps of
 * its own), the destination, no two at one place.
 *
 * @param path of the step, e.g. `spec.jobs.deploy.steps[0]`
 */
export function checkArtifacts(
  step: StepSpec,
  jobId: string,
  path: string,
  jobs: Readonly<Record<string, JobSpec>>,
  graph: JobGraph,
): { references: ArtifactReference[]; errors: FieldError[] } {
  const references: ArtifactReference[] = [];
  const errors: FieldError[] = [];
  const artifacts = step.artifacts ?? [];
  for (const [index, { from, path: destination }] of artifacts.entries()) {
    const at = under(path, "artifacts", index);
    const source = checkSource(from, jobId, jobs, graph);
    if ("message" in source) errors.push(invalid(`${at}.from`, source.message, source.advice));
    else references.push({ ...source, path: destination });
    const violation = checkDestination(destination);
    if (violation !== undefined) errors.push(invalid(`${at}.path`, violation.message, violation.advice));
    const twin = artifacts.findIndex((other) => pathsOverlap(other.path, destination));
    if (twin >= index) continue;
    const message = `"${destination}" and "${artifacts[twin]?.path}" of artifacts[${twin}] are in each other's way`;
    errors.push(duplicate(`${at}.path`, message, "Give each artifact a place of its own."));
  }
  return { references, errors };
}

function checkDestination(path: string): PathViolation | undefined {
  if (!path.includes("${{")) return checkRelativePath(path);
  return { message: "the destination is a fixed path, not an expression", advice: "Write the path itself." };
}

/** The name of an artifact is a single file name. */
function checkArtifactName(name: string): PathViolation | undefined {
  if (!/[/\\]/.test(name)) return checkRelativePath(name);
  return { message: `the artifact name "${name}" has a slash`, advice: "Artifacts have plain file names." };
}

function checkSource(
  from: string,
  jobId: string,
  jobs: Readonly<Record<string, JobSpec>>,
  graph: JobGraph,
): { job: string; name: string } | PathViolation {
  if (from.includes("${{")) {
    return {
      message: "the source of an artifact is a fixed name, not an expression",
      advice: "Write jobs.JOB.artifacts.NAME.",
    };
  }
  const reference = parseArtifactReference(from);
  if (reference === undefined) {
    return {
      message: `"${from}" does not name an artifact`,
      advice: "Write jobs.JOB.artifacts.NAME, for example jobs.build.artifacts.dist.tgz.",
    };
  }
  const { job, name } = reference;
  const needs = graph.needs.get(jobId) ?? [];
  if (job === jobId) {
    return {
      message: `job "${job}" takes an artifact of itself`,
      advice: "Steps of one job share their files already; artifacts are for other jobs.",
    };
  }
  if (!Object.hasOwn(jobs, job)) {
    return { message: `there is no job "${job}"`, advice: `Jobs that "${jobId}" needs: ${listOf(needs)}.` };
  }
  if (!needs.includes(job)) {
    return {
      message: `job "${job}" is not a direct need of "${jobId}"`,
      advice: `Add "${job}" to the needs of "${jobId}"; it needs: ${listOf(needs)}.`,
    };
  }
  if (jobs[job]?.steps === undefined) {
    return {
      message: `job "${job}" has no steps of its own, so it has no artifacts`,
      advice: "Take artifacts of jobs with steps; a job with uses hands values over by outputs.",
    };
  }
  const violation = checkArtifactName(name);
  return violation ?? { job, name };
}
