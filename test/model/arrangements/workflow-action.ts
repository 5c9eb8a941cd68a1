import type { WorkflowActionSpec } from "#api/kinds/workflow-action.ts";
import { workflowActions, workflowRuns } from "#api/resources.ts";
import { createWorkflowActionController } from "#controllers/workflow-action/index.ts";
import { createWorkflowRunController } from "#controllers/workflow-run/index.ts";
import { restoreWorkflowAction, type WorkflowActionEvent } from "#machines/workflow-action.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import { arranged, type Stage } from "./arranged.ts";
import { namespace } from "./pool.ts";
import { job, step } from "./workflow-stage.ts";

const name = "act";
const now = 1_751_803_200_000;
const message = "text for people";

/** One action under its real controllers. */
class ActionStage implements Stage {
  readonly plane = new ControlPlane();

  async start(): Promise<this> {
    await this.plane.start((deps, informers) => [
      createWorkflowRunController(deps, informers, { workspaceTtlSeconds: 3600 }),
      createWorkflowActionController(deps, informers, { ttlSeconds: 3600 }),
    ]);
    return this;
  }

  async runs(): Promise<void> {
    const spec = { jobs: { build: job([step("test")]) } };
    await this.plane.create(workflowRuns, { metadata: { name: "ci", namespace }, spec });
    await this.plane.settle();
  }

  async asks(spec: Omit<WorkflowActionSpec, "workflowRef">): Promise<void> {
    await this.plane.create(workflowActions, {
      metadata: { name, namespace },
      spec: { workflowRef: { name: "ci" }, ...spec },
    });
  }

  until(holds: () => boolean | Promise<boolean>, ms?: number): Promise<void> {
    return this.plane.until(holds, ms);
  }

  async state(): Promise<string | undefined> {
    return (await this.plane.find(workflowActions, name))?.status?.phase;
  }

  stop(): void {
    this.plane.stop();
  }
}

type Refusal = Extract<WorkflowActionEvent, { type: "REFUSE" }>;
const refusal = (reason: Refusal["reason"]): Refusal => ({ type: "REFUSE", reason, message, now });

export const workflowActionArrangements = arranged<ActionStage, WorkflowActionEvent>({
  scenes: [
    {
      name: "a request",
      start: restoreWorkflowAction(undefined),
      events: ({ value }) =>
        value === "Pending"
          ? [
              { type: "APPLY", message, now },
              refusal("WorkflowNotFound"),
              refusal("WorkflowCompleted"),
              refusal("UnsupportedAction"),
              refusal("NothingToStop"),
              refusal("InvalidNodeFieldSelector"),
            ]
          : [],
      build: () => new ActionStage().start(),
    },
  ],
  arrange: {
    async APPLY(stage) {
      await stage.runs();
      await stage.asks({ action: "Stop" });
    },
    async REFUSE(stage, { reason }) {
      switch (reason) {
        case "WorkflowCompleted": {
          const spec = { jobs: { build: job([step("test")], { needs: ["build"] }) } };
          await stage.plane.create(workflowRuns, { metadata: { name: "ci", namespace }, spec });
          await stage.until(async () => (await stage.plane.find(workflowRuns, "ci"))?.status?.phase === "Failed");
          return stage.asks({ action: "Terminate" });
        }
        case "UnsupportedAction":
          await stage.runs();
          return stage.asks({ action: "Skip" });
        case "NothingToStop":
          await stage.runs();
          return stage.asks({ action: "Stop", stop: { nodeFieldSelector: "name=build/test" } });
        case "InvalidNodeFieldSelector":
          await stage.runs();
          return stage.asks({ action: "Stop", stop: { nodeFieldSelector: "nmae=build" } });
        default:
          return stage.asks({ action: "Stop" });
      }
    },
  },
});
