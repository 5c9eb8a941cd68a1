import type { WorkflowActionSpec } from "#api/kinds/workflow-action.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { annotations } from "#api/labels.ts";
import { workflowActions, workflowRuns } from "#api/resources.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import type { Dice } from "../dice.ts";
import type { Person } from "./person.ts";

/** A UID that nothing has. */
const foreignUid = "00000000-0000-4000-8000-00000000abcd";

const isOpen = ({ status }: WorkflowRun) => !hasEnded(status?.phase);

/** Somebody wants something of a WorkflowRun: mostly of one that is at work, sometimes of one that has ended, or is not there. */
export async function askOnce(person: Person): Promise<void> {
  await ask(person, target(person));
}

/** Several wishes for one run at a time, which contradict each other. */
export async function askMuch(person: Person): Promise<void> {
  const flow = target(person);
  for (let count = person.dice.int(2, 6); count > 0; count--) await ask(person, flow);
}

/** An action goes away, before it was answered or after. */
export async function deleteAction(person: Person): Promise<void> {
  const action = person.any(workflowActions);
  if (action !== undefined) await person.delete(workflowActions, action.metadata.name);
}

/** The old way: the spec is changed. */
export async function changeSpec(person: Person): Promise<void> {
  const flow = person.any(workflowRuns, isOpen);
  if (flow === undefined) return;
  const { dice } = person;
  const spec = dice.chance(0.8) ? { suspend: dice.chance(0.5) } : { shutdown: dice.pick(["Stop", "Terminate"]) };
  await person.patch(workflowRuns, flow.metadata.name, { spec });
}

/** Somebody lets go on what waits for people. */
export async function resumeAll(person: Person): Promise<void> {
  const { dice } = person;
  for (const flow of person.world.objects(workflowRuns).filter(isOpen)) {
    if (dice.chance(0.8)) await create(person, { workflowRef: { name: flow.metadata.name }, action: "Resume" });
    if (!dice.chance(0.5)) continue;
    const resume = { nodeFieldSelector: "type=Gate", outputParameters: { ok: "yes" } };
    await create(person, { workflowRef: { name: flow.metadata.name }, action: "Resume", resume });
  }
}

function target(person: Person): WorkflowRun | undefined {
  const which = person.dice.weighted({ open: 12, ended: 5, missing: 0.5 });
  if (which === "missing") return undefined;
  return person.any(workflowRuns, (flow) => isOpen(flow) === (which === "open")) ?? person.any(workflowRuns);
}

async function ask(person: Person, flow: WorkflowRun | undefined): Promise<void> {
  const { dice } = person;
  const { name = "flow-none", uid } = flow?.metadata ?? {};
  const pin = dice.weighted({ none: 6, right: 3, wrong: 0.5 });
  const workflowRef = {
    name,
    ...(pin === "right" && uid !== undefined && { uid }),
    ...(pin === "wrong" && { uid: foreignUid }),
  };
  const jobs = Object.keys(flow?.status?.jobs ?? {});
  await create(person, { workflowRef, ...wish(dice, jobs) });
}

async function create(person: Person, spec: WorkflowActionSpec): Promise<void> {
  const name = person.name("act");
  const who = person.dice.chance(0.3) ? { annotations: { [annotations.creator]: `${name}@example.org` } } : {};
  await person.create(workflowActions, { metadata: { name, ...who }, spec });
}

function wish(dice: Dice, jobs: readonly string[]): Omit<WorkflowActionSpec, "workflowRef"> {
  const action = dice.weighted({ Suspend: 4, Resume: 8, Stop: 1.2, Terminate: 0.8, Retry: 4, Skip: 0.2 });
  switch (action) {
    case "Resume": {
      if (dice.chance(0.5)) return { action };
      const outputParameters = { [dice.chance(0.9) ? "ok" : "unknown"]: dice.pick(["yes", "no", "maybe"]) };
      const nodeFieldSelector = selector(dice, jobs);
      return { action, resume: { nodeFieldSelector, ...(dice.chance(0.6) && { outputParameters }) } };
    }
    case "Stop":
      return {
        action,
        ...(dice.chance(0.5) && {
          stop: { message: "not needed", ...(dice.chance(0.6) && { nodeFieldSelector: selector(dice, jobs) }) },
        }),
      };
    case "Retry": {
      if (dice.chance(0.6)) return { action };
      const restartSuccessful = dice.chance(0.5);
      return { action, retry: { nodeFieldSelector: selector(dice, jobs), restartSuccessful } };
    }
    default:
      return { action };
  }
}

function selector(dice: Dice, jobs: readonly string[]): string {
  const job = jobs.length === 0 ? "job1" : dice.pick(jobs);
  return dice.pick([`job=${job}`, `name=${job}/gate`, "type=Gate", "phase=Suspended", `job!=${job}`, "nmae=gate"]);
}
