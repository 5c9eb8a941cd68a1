import { jobMachine, jobStatus, restoreJob } from "#machines/job.ts";
import { step } from "#machines/lib/settle.ts";
import { restoreStepGate, type StepGateEvent, stepGateMachine, stepGateStatus } from "#machines/step-gate.ts";
import { type WorkflowRunSnapshot, workflowRunMachine } from "#machines/workflow-run.ts";
import { planOf } from "#workflows/matrix.ts";
import {
  matchesNode,
  type Node,
  type NodeFieldSelector,
  parseNodeFieldSelector,
} from "#workflows/node-field-selector.ts";
import { type GateWork, stepsOf, type WorkflowPlan } from "#workflows/plan.ts";
import { refuse, type Verdict } from "./verdict.ts";

/** A gate that waits. */
export interface ActiveGate {
  /** Id of its job, or of the instance of a matrix. */
  readonly jobId: string;
  /** Position of its step. */
  readonly index: number;
  readonly work: GateWork;
  readonly node: Node;
}

/** The gates of a run that wait, in the order of the graph. */
export function activeGates({ context }: WorkflowRunSnapshot, plan: WorkflowPlan): ActiveGate[] {
  const found: ActiveGate[] = [];
  for (const [jobId, job] of Object.entries(context.status.jobs ?? {})) {
    const jobPlan = planOf(plan, jobId);
    if (jobPlan === undefined || job.phase !== "Suspended") continue;
    for (const { name, index, work } of stepsOf(jobPlan)) {
      if (work.kind !== "gate" || job.steps?.[index]?.phase !== "Suspended") continue;
      const phase = "Suspended";
      const node = { name: `${jobId}/${name}`, job: jobPlan.id, step: name, displayName: name, phase, type: "Gate" };
      found.push({ jobId, index, work, node });
    }
  }
  return found;
}

export type Chosen = { readonly ok: true; readonly gates: readonly ActiveGate[] } | { ok: false; verdict: Verdict };

/** The gates that a selector matches, or why it is of no use. */
export function choose(gates: readonly ActiveGate[], text: string, none: "NothingToResume" | "NothingToStop"): Chosen {
  const parsed = parseNodeFieldSelector(text);
  if (!parsed.ok) return { ok: false, verdict: refuse("InvalidNodeFieldSelector", parsed.message) };
  const selector: NodeFieldSelector = parsed.selector;
  const chosen = gates.filter(({ node }) => matchesNode(selector, node));
  if (chosen.length > 0) return { ok: true, gates: chosen };
  const waiting = gates.map(({ node }) => node.name);
  const known = waiting.length === 0 ? "no gate waits" : `these wait: ${waiting.join(", ")}`;
  return { ok: false, verdict: refuse(none, `no gate that waits matches ${text}; ${known}`) };
}

/** The run with an event sent to each of these gates. */
export function sendToGates(
  snapshot: WorkflowRunSnapshot,
  events: readonly { readonly gate: ActiveGate; readonly event: StepGateEvent }[],
): WorkflowRunSnapshot {
  const jobs = { ...snapshot.context.status.jobs };
  for (const { gate, event } of events) {
    const job = jobs[gate.jobId];
    const status = job?.steps?.[gate.index];
    if (job === undefined || status === undefined) continue;
    const next = stepGateStatus(step(stepGateMachine, restoreStepGate(status), event).snapshot);
    const steps = (job.steps ?? []).with(gate.index, next);
    jobs[gate.jobId] = jobStatus(step(jobMachine, restoreJob(job), { type: "STEPS", steps }).snapshot);
  }
  return step(workflowRunMachine, snapshot, { type: "JOBS", jobs }).snapshot;
}
