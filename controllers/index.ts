import type { Controller } from "#kube/controller.ts";
import { type ControllerDeps, createInformers, startInformers } from "./informers.ts";
import { createPersistentWorkspace } from "./persistent-workspace/index.ts";
import { createRunRecovery } from "./run-recovery/index.ts";
import { createRuntimePool, type PoolSettings } from "./runtime-pool/index.ts";
import { createRunTtl, createWorkflowRunTtl } from "./ttl/index.ts";
import { type ActionSettings, createWorkflowActionController } from "./workflow-action/index.ts";
import { createWorkflowRunController, type WorkflowSettings } from "./workflow-run/index.ts";
import { createWorkflowTemplate } from "./workflow-template/index.ts";

export interface ControllerSettings {
  readonly pool: PoolSettings;
  readonly workflow: WorkflowSettings;
  readonly actions: ActionSettings;
}

export interface Controllers {
  /** Resolves when all caches are filled and the controllers work. */
  start(signal: AbortSignal): Promise<void>;
  /** Takes no more work and waits for the passes that run. */
  stop(): Promise<void>;
  readonly all: readonly Controller[];
}

/** Everything that the process `controller` does, over one set of caches. */
export function createControllers(deps: ControllerDeps, settings: ControllerSettings): Controllers {
  const informers = createInformers(deps);
  const all = [
    createRuntimePool(deps, informers, settings.pool),
    createRunRecovery(deps, informers),
    createPersistentWorkspace(deps, informers),
    createWorkflowRunController(deps, informers, settings.workflow),
    createWorkflowActionController(deps, informers, settings.actions),
    createWorkflowTemplate(deps, informers),
    createRunTtl(deps, informers),
    createWorkflowRunTtl(deps, informers),
  ];
  return {
    all,
    async start(signal) {
      await startInformers(informers, signal);
      for (const controller of all) controller.start(signal);
    },
    async stop() {
      await Promise.all(all.map((controller) => controller.stop()));
    },
  };
}
