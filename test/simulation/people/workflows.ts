import type { JobSpec, StepSpec } from "#api/kinds/job.ts";
import { workflowRuns, workflows } from "#api/resources.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import type { Dice } from "../dice.ts";
import type { Person } from "./person.ts";
import { randomScript } from "./runs.ts";

/** The name of every gate, and of no other step. */
export const gateName = "gate";

/** The name of every job that is a Workflow, and of no other one. */
export const callName = "call";

type Jobs = Record<string, JobSpec>;

/** What a job offers to those that need it. */
interface Offer {
  readonly id: string;
  readonly output: string | undefined;
  readonly artifacts: readonly string[];
}

/** A small graph of jobs that hand outputs and artifacts to each other, not always without mistakes. */
export function randomJobs(dice: Dice, runtimeNames: readonly string[], extras: Dice): Jobs {
  const jobs: Jobs = {};
  const offers: Offer[] = [];
  const count = dice.int(1, 4);
  for (let index = 1; index <= count; index++) {
    const id = `${dice.pick(["job", "Build", "test_it"])}${index}`;
    const needed = dice.some(offers, 0.5);
    const { job, offer } = randomJob(dice, id, needed, dice.pick(runtimeNames));
    jobs[id] = withExtras(extras, job);
    offers.push(offer);
  }
  return jobs;
}

function randomJob(dice: Dice, id: string, needed: readonly Offer[], runtime: string): { job: JobSpec; offer: Offer } {
  const steps: StepSpec[] = [];
  const artifacts: string[] = [];
  let output: string | undefined;
  const count = dice.int(1, 3);
  for (let index = 1; index <= count; index++) {
    const name = `step${index}`;
    const lines = dice.chance(0.15) ? randomScript(dice) : [`sim lasts ${dice.int(1, 4000)}`];
    lines.push(`sim file ${name}.txt ${id} was here`);
    for (const { id: from, output: given } of needed) {
      if (given !== undefined && dice.chance(0.5))
        lines.push(`sim output from-${from.toLowerCase()} "\${{ needs.${from}.outputs.${given} }}"`);
    }
    if (dice.chance(0.4)) {
      lines.push(`sim output value${index} ${id}-${dice.int(1, 99)}`);
      output = `\${{ steps.${name}.outputs.value${index} }}`;
    }
    if (dice.chance(0.35)) {
      const artifact = dice.pick(["data.bin", `${name}.tgz`]);
      lines.push(`sim artifact ${artifact}`);
      artifacts.push(artifact);
    }
    const inputs = needed.flatMap((offer) =>
      dice.some(offer.artifacts, 0.6).map((artifact) => ({
        from: `jobs.${offer.id}.artifacts.${dice.chance(0.05) ? "missing.bin" : artifact}`,
        path: `in/${name}/${offer.id}/${artifact}`,
      })),
    );
    const distinct = inputs.filter(({ path }, at) => inputs.findIndex((other) => other.path === path) === at);
    steps.push({ name, run: lines.join("\n"), ...(distinct.length === 0 ? {} : { artifacts: distinct }) });
  }
  const job: JobSpec = {
    "runs-on": runtime,
    ...(needed.length === 0 ? {} : { needs: needed.map((offer) => offer.id) }),
    steps,
    ...(output === undefined ? {} : { outputs: { result: output } }),
  };
  return {
    job,
    offer: { id, output: output === undefined ? undefined : "result", artifacts: [...new Set(artifacts)] },
  };
}

/** A job that may wait for people, or clean up behind others. */
function withExtras(dice: Dice, job: JobSpec): JobSpec {
  const { needs = [], steps = [] } = job;
  const cleansUp = needs.length > 0 && dice.chance(0.2) ? { if: dice.pick(["always()", "cancelled()"]) } : {};
  if (!dice.chance(0.2)) return { ...job, ...cleansUp };
  const at = dice.int(0, steps.length);
  return { ...job, ...cleansUp, steps: [...steps.slice(0, at), randomGate(dice), ...steps.slice(at)] };
}

/** The jobs, and perhaps one more that is a Workflow, which nobody needs. */
function withCall(person: Person, jobs: Jobs): Jobs {
  const dice = extrasOf(person);
  if (!dice.chance(0.3)) return jobs;
  // One that uses another itself would soon be one level too many.
  const used = person.any(workflows, ({ spec }) => Object.values(spec.jobs).every(({ uses }) => uses === undefined));
  if (used === undefined) return jobs;
  const needs = dice.some(Object.keys(jobs), 0.3);
  const call: JobSpec = {
    uses: used.metadata.name,
    ...(needs.length > 0 && { needs }),
    ...(dice.chance(0.2) && { if: "always()" }),
  };
  return { ...jobs, [callName]: call };
}

function randomGate(dice: Dice): StepSpec {
  const ok = {
    ...(dice.chance(0.7) && { default: "yes" }),
    ...(dice.chance(0.4) && { options: ["yes", "no"] }),
  };
  return {
    name: gateName,
    suspend: {
      ...(dice.chance(0.5) && { duration: `${dice.int(1, 40)}s` }),
      ...(dice.chance(0.6) && { outputs: { ok } }),
    },
  };
}

export async function createWorkflow(person: Person, runtimeNames: readonly string[]): Promise<void> {
  const spec = { jobs: withCall(person, randomJobs(person.dice, runtimeNames, extrasOf(person))) };
  await person.create(workflows, { metadata: { name: person.name("workflow") }, spec });
}

export async function createWorkflowRun(person: Person, runtimeNames: readonly string[]): Promise<void> {
  const { dice } = person;
  const workflow = dice.chance(0.4) ? person.any(workflows) : undefined;
  const hasTimeout = dice.chance(0.3);
  const waits = hasTimeout && dice.chance(0.1) ? ["absent"] : [];
  const source =
    workflow !== undefined || dice.chance(0.1)
      ? { workflowRef: { name: workflow?.metadata.name ?? "missing" } }
      : { jobs: withCall(person, randomJobs(dice, [...runtimeNames, ...waits], extrasOf(person))) };
  const extras = extrasOf(person);
  await person.create(workflowRuns, {
    metadata: { name: person.name("flow") },
    spec: {
      ...source,
      ...(hasTimeout ? { timeout: `${dice.int(5, 60)}s` } : {}),
      ...(dice.chance(0.2) ? { ttlSecondsAfterFinished: dice.int(0, 40) } : {}),
      ...(extras.chance(0.1) && { suspend: true }),
      ...(extras.chance(0.2) && { parallelism: extras.int(1, 2) }),
    },
  });
}

/** Dice of their own, so that they do not shift what else happens. */
const extrasOf = (person: Person) => person.world.faults.dice("gates and clean-up");

export async function deleteWorkflowRun(person: Person): Promise<void> {
  const flow = person.any(workflowRuns, ({ status }) => person.dice.chance(0.7) || hasEnded(status?.phase));
  if (flow !== undefined) await person.delete(workflowRuns, flow.metadata.name);
}

export async function deleteWorkflow(person: Person): Promise<void> {
  const workflow = person.any(workflows);
  if (workflow !== undefined) await person.delete(workflows, workflow.metadata.name);
}
