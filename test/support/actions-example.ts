/** The example of actions, played to its end on any cluster: every wish of it, and what becomes of the run. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { parse } from "yaml";
import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import type { WorkflowRun, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { workflowActions } from "#api/resources.ts";
import type { Client } from "#kube/resource.ts";

export const actionsExample = join(import.meta.dirname, "../../examples/actions");

export interface ExampleStage {
  readonly client: Client;
  readonly namespace: string;
  /** Resolves with the run once that holds. */
  run(holds: (status: WorkflowRunStatus, run: WorkflowRun) => boolean): Promise<WorkflowRun>;
  /** Resolves with an action once that holds. */
  action(name: string, holds: (action: WorkflowAction) => boolean): Promise<WorkflowAction>;
}

/** The example for a test in which nobody is in a hurry: its gate waits for its answer. */
export async function patientExample(): Promise<string> {
  const text = await readFile(join(actionsExample, "workflow.yaml"), "utf8");
  expect(text).toContain("duration: 5s\n");
  return text.replace("duration: 5s\n", "duration: 1h\n");
}

/** Plays the wishes on the run `rollout`, which has just been created. @throws AssertionError */
export async function playWishes({ client, namespace, run, action }: ExampleStage): Promise<void> {
  const left = new Set(await readdir(join(actionsExample, "wishes")));
  async function wish(name: string): Promise<void> {
    left.delete(`${name}.yaml`);
    const object = parse(await readFile(join(actionsExample, "wishes", `${name}.yaml`), "utf8")) as WorkflowAction;
    const asked = { ...object, metadata: { ...object.metadata, namespace } };
    const { metadata } = await client.of(workflowActions).create(asked);
    const { status } = await action(metadata.name, (each) => each.status?.completionTime !== undefined);
    expect(status, name).toMatchObject({ phase: "Succeeded", reason: "ActionApplied" });
  }
  const gateWaits = (attempt: number) =>
    run(({ jobs, ...status }) => status.attempt === attempt && jobs?.deploy?.phase === "Suspended");
  const ended = async () => (await run(({ completionTime }) => completionTime !== undefined)).status;
  const jobs = (status: WorkflowRunStatus | undefined) =>
    Object.entries(status?.jobs ?? {}).map(([id, { phase }]) => `${id} ${phase}`);

  await run(({ jobs: all }) => all?.build?.phase === "Running");
  await wish("suspend");
  await run(({ phase, jobs: all }) => phase === "Suspended" && all?.build?.phase === "Succeeded");
  await wish("resume");
  await gateWaits(1);
  await wish("approve");
  const approved = await ended();
  expect(approved?.phase).toBe("Succeeded");
  expect(approved?.jobs?.deploy?.steps?.[0]?.outputs).toEqual({ environment: "production" });

  await wish("retry");
  await gateWaits(2);
  await wish("stop");
  const stopped = await ended();
  expect(stopped).toMatchObject({ phase: "Failed", reason: "Stopped", attempt: 2 });
  expect(jobs(stopped)).toEqual(["build Succeeded", "deploy Cancelled", "tidy Succeeded"]);

  await wish("retry");
  await gateWaits(3);
  await wish("decline");
  const declined = await ended();
  expect(declined).toMatchObject({ phase: "Failed", reason: "JobFailed" });
  expect(declined?.jobs?.deploy?.steps?.[0]).toMatchObject({ phase: "Failed", message: "not on a Friday" });

  await wish("retry");
  await gateWaits(4);
  await wish("terminate");
  const terminated = await ended();
  expect(terminated).toMatchObject({ phase: "Failed", reason: "Terminated" });
  expect(jobs(terminated)).toEqual(["build Succeeded", "deploy Cancelled", "tidy Skipped"]);
  expect([...left], "every wish is played").toEqual([]);
}
