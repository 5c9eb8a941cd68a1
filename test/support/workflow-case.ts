import { parse } from "yaml";
import type { JobStatus, StepStatus, WorkflowRun, WorkflowRunSpec } from "#api/kinds/workflow-run.ts";
import { actions, workflowRuns, workflows } from "#api/resources.ts";
import type { Client } from "#kube/resource.ts";
import { StatusError } from "#kube/transport.ts";

/** A small workflow and what becomes of it, as the files in test/integration/workflows write it. */
export interface Case {
  /** Workflows and Actions that are there before. */
  readonly templates?: readonly {
    readonly kind: "Workflow" | "Action";
    readonly name: string;
    readonly spec: object;
  }[];
  readonly run: WorkflowRunSpec;
  /** Part of what {@link shownOf} shows at the end; a job or step that is a text is its phase. */
  readonly expect: Record<string, unknown>;
  /** Part of the message, for a run that admission refuses. */
  readonly refused?: string;
}

export function readCase(text: string): Case {
  const { expect = {}, ...rest } = parse(text) as Case;
  return { ...rest, expect: { ...expect, ...("jobs" in expect && { jobs: expanded(expect.jobs) }) } };
}

/** Members that are texts are phases. */
function expanded(members: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members as object).map(([name, member]) => {
      if (typeof member === "string") return [name, { phase: member }];
      return [name, member.steps === undefined ? member : { ...member, steps: expanded(member.steps) }];
    }),
  );
}

/** Creates what a case consists of; answers with the message of a refusal. */
export async function start(
  client: Client,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { templates = [], run }: Case,
): Promise<string | undefined> {
  for (const template of templates) {
    const metadata = { name: template.name, namespace };
    if (template.kind === "Workflow") await client.of(workflows).create({ metadata, spec: template.spec as never });
    else await client.of(actions).create({ metadata, spec: template.spec as never });
  }
  try {
    await client.of(workflowRuns).create({ metadata: { name, namespace }, spec: run });
    return undefined;
  } catch (error) {
    if (error instanceof StatusError) return error.message;
    throw error;
  }
}

/** The status of a run with its steps by name. */
export function shownOf({ status }: WorkflowRun): Record<string, unknown> {
  const byName = (steps: readonly Pick<StepStatus, "name" | "steps">[]): Record<string, unknown> =>
    Object.fromEntries(steps.map((step) => [step.name, step.steps ? { ...step, steps: byName(step.steps) } : step]));
  const job = (each: JobStatus) => (each.steps === undefined ? each : { ...each, steps: byName(each.steps) });
  return {
    ...status,
    jobs: Object.fromEntries(Object.entries(status?.jobs ?? {}).map(([id, each]) => [id, job(each)])),
  };
}
