import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { InputValue } from "#workflows/inputs.ts";
import type { Compiled, WorkflowPlan } from "#workflows/plan.ts";
import type { Inbox } from "./actions/desk.ts";

/** An object under a name that we need: ours, somebody else's, or nobody's (confirmed by a live read). */
export type Found<T> =
  | { readonly kind: "ours"; readonly object: T }
  | { readonly kind: "foreign" }
  | { readonly kind: "absent" };

/** Where the graph of the run comes from. */
export type Source =
  /** Inline jobs, or a frozen copy of the Workflow. */
  | {
      readonly kind: "plan";
      readonly compiled: Compiled<WorkflowPlan>;
      /** The context `inputs`, with types and defaults. */
      readonly inputs: Readonly<Record<string, InputValue>>;
      readonly snapshotRef?: string;
    }
  /** The Workflow is there and compiles; its copy is not made yet. */
  | { readonly kind: "unfrozen"; readonly name: string }
  | { readonly kind: "missing"; readonly workflow: string }
  | { readonly kind: "collision"; readonly name: string }
  /** It cannot be read at the moment. */
  | { readonly kind: "unavailable"; readonly error: unknown }
  /** The run has ended: its graph is not looked at any more. */
  | { readonly kind: "over" };

/** Everything that one pass over a WorkflowRun decides on. */
export interface Seen {
  readonly run: WorkflowRun;
  readonly source: Source;
  /** Child Runs by name: all that the stored status names, and all others that belong to this run. */
  readonly runs: ReadonlyMap<string, Found<Run>>;
  /** Job workspaces by name, as for Runs. */
  readonly workspaces: ReadonlyMap<string, Found<PersistentWorkspace>>;
  /** Whether spec.shutdown, and changes of spec.suspend, still mean something. */
  readonly honoursDeprecated: boolean;
  /** WorkflowActions to apply, and recorded ones to forget. */
  readonly inbox: Inbox;
  /** The run whose job this one is. */
  readonly parent?: WorkflowRun;
  /** Name of the run above that is suspended: nothing begins here either, until that is resumed. */
  readonly heldBy?: string;
  /** Names of the runs below that a Resume of their own would move. */
  waitingBelow(): readonly string[];
  /** WorkflowRuns of jobs that use Workflows by name, as for Runs. */
  readonly children: ReadonlyMap<string, Found<WorkflowRun>>;
  runtimeOf(name: string): Runtime | undefined;
  /** Answers of the API server to children that it would not have, by name. */
  readonly refused: ReadonlyMap<string, string>;
  /** When this process first saw a child Run, by UID, milliseconds since the epoch. */
  readonly sightings: ReadonlyMap<string, number>;
}
