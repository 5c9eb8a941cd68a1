import type { Run } from "#api/kinds/run.ts";
import type { JobStatus, StepStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { equalJson } from "#kube/json.ts";
import type { Change } from "#local/apiserver/index.ts";
import { isActive, isBad } from "#machines/derive.ts";
import { gateName } from "../people/workflows.ts";
import { resourceOf, type World } from "../world.ts";
import type { Report, Rule } from "./rule.ts";

/** Groups say what their members say; children exist because a stored status says so; what a step says its Run has said. */
export function workflowRules(world: World, report: Report): Rule {
  /** Child Runs by name, also after they are gone. */
  const children = new Map<string, Run>();

  function checkStatus({ metadata, spec, status }: WorkflowRun, old: WorkflowRun | undefined): void {
    if (status === undefined || status === old?.status) return;
    const subject = `WorkflowRun ${metadata.name}`;
    const jobs = Object.entries(status.jobs ?? {});
    if (hasEnded(status.phase) && status.reason !== "InvalidWorkflow" && jobs.some(([, job]) => !hasEnded(job.phase))) {
      report("a workflow ends after its jobs", subject, status.phase);
    }
    if (status.phase === "Succeeded" && jobs.some(([, { phase }]) => phase !== "Succeeded" && phase !== "Skipped")) {
      report(
        "a workflow succeeds when all its jobs have",
        subject,
        jobs.map(([id, job]) => `${id} ${job.phase}`).join(),
      );
    }
    for (const [id, job] of jobs) {
      checkJob(`${subject} job ${id}`, job, old?.status?.jobs?.[id]);
      const { needs = [], if: condition } = spec.jobs?.[id] ?? {};
      const open = needs.filter((need) => {
        const phase = status.jobs?.[need]?.phase;
        return condition === undefined ? phase !== "Succeeded" : !hasEnded(phase);
      });
      if ((job.startTime !== undefined || job.phase === "Queued") && open.length > 0) {
        report("a job starts after those that it needs", `${subject} job ${id}`, open.join());
      }
    }
  }

  function checkJob(subject: string, job: JobStatus, old: JobStatus | undefined): void {
    const steps = job.steps ?? [];
    const says = steps.map(({ name, phase }) => `${name} ${phase}`).join(", ");
    if (hasEnded(job.phase) && steps.some(({ phase }) => !hasEnded(phase)))
      report("a job ends after its steps", subject, says);
    if (job.phase === "Succeeded" && steps.some(({ phase }) => phase !== "Succeeded")) {
      report("a job succeeds when all its steps have", subject, says);
    }
    if (steps.filter(isActive).length > 1) report("steps of a job follow one another", subject, says);
    const firstOpen = steps.findIndex(({ phase }) => phase !== "Succeeded");
    if (firstOpen >= 0 && steps.slice(firstOpen + 1).some((step) => isActive(step) || step.phase === "Succeeded")) {
      report("a step starts after those before it have succeeded", subject, says);
    }
    for (const step of steps) {
      const before = old?.steps?.find(({ name }) => name === step.name);
      if (hasEnded(step.phase) && before?.phase !== step.phase) checkStep(`${subject} step ${step.name}`, step);
    }
  }

  /** What is written of the end of a step is what its Run says. */
  function checkStep(subject: string, step: StepStatus): void {
    if (step.name === gateName) return;
    const run = children.get(step.runName ?? "");
    const says = `${step.phase} ${step.reason}, and Run ${step.runName} ${run?.status?.phase} ${run?.status?.reason}`;
    if (step.phase === "Succeeded") {
      if (run?.status?.phase !== "Succeeded") report("a step succeeds when its Run has", subject, says);
    }
    // The step of a Run that was deleted, or never came to be, has none.
    const told = step.exitCode === undefined ? (step.outputs ?? {}) : (run?.status?.outputs ?? {});
    if (!equalJson(step.outputs ?? {}, told) || (Object.keys(told).length > 0 && run === undefined))
      report("outputs of a step are those of its Run", subject, says);
    if (
      isBad(step) &&
      run !== undefined &&
      !isTerminal(run.status?.phase) &&
      world.object(runs, run.metadata.name) !== undefined
    ) {
      if (step.reason !== "ChildRefused" && step.reason !== "WorkspaceLost" && step.reason !== "NameCollision") {
        report("a step ends after its Run", subject, says);
      }
    }
  }

  /** Record, then act: the name of a child stands in the stored status before the child exists. */
  function checkChild(child: Run | WorkflowRun): void {
    const owner = child.metadata.ownerReferences?.find(
      ({ controller, kind }) => controller && kind === workflowRuns.kind,
    );
    if (owner === undefined) return;
    const flow = world.object(workflowRuns, owner.name);
    if (flow?.metadata.uid !== owner.uid) return; // deleted while it was being created
    const jobs = Object.values(flow.status?.jobs ?? {});
    const named = jobs.flatMap(({ workflowRunName, steps = [] }) => [
      workflowRunName,
      ...steps.map(({ runName }) => runName),
    ]);
    if (!named.includes(child.metadata.name)) {
      report(
        "a child is recorded before it is created",
        `${child.kind} ${child.metadata.name}`,
        `WorkflowRun ${owner.name}`,
      );
    }
  }

  return {
    change({ type, resource, object, previous }: Change) {
      if (resource === resourceOf(workflowRuns) && type !== "DELETED") {
        checkStatus(object as unknown as WorkflowRun, previous as unknown as WorkflowRun | undefined);
        if (type === "ADDED") checkChild(object as unknown as WorkflowRun);
      }
      if (resource !== resourceOf(runs)) return;
      const run = object as unknown as Run;
      if (run.metadata.ownerReferences === undefined) return;
      children.set(run.metadata.name, run);
      if (type === "ADDED") checkChild(run);
    },
  };
}
