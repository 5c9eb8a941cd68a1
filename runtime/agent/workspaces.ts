import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import { workspaceFinalizer } from "#api/labels.ts";
import { keyOf } from "#api/meta.ts";
import { persistentWorkspaces, runs } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import { parseTime } from "#api/time.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { isNotFound } from "#kube/transport.ts";
import { workspaceLayout } from "#runtime/files/layout.ts";
import { removeWorkspace, type WorkspaceOwner } from "#runtime/files/workspaces.ts";
import type { AgentDeps } from "./deps.ts";

/** What the agent knows of the workspaces that are bound to its Pod. */
export interface WorkspaceView {
  get(name: string): PersistentWorkspace | undefined;
  /** Whether a Run that has not ended, at work here or assigned to this Pod, refers to the workspace. */
  isReferenced(name: string): boolean;
}

/**
 * The directories of the workspaces of this Pod. Claiming a Run and removing the directory that it would use exclude
 * each other: both ask here, in one process.
 */
export class Workspaces {
  readonly #deps: AgentDeps;
  readonly #view: WorkspaceView;
  /** UIDs of workspaces in which a Run of this process was prepared. */
  readonly #used = new Set<string>();
  /** Names of workspaces whose directory is being removed. */
  readonly #removing = new Set<string>();
  /** The preparation under way for a workspace, by UID: two Runs must not both find it new. */
  readonly #preparing = new Map<string, Promise<unknown>>();

  constructor(deps: AgentDeps, view: WorkspaceView) {
    this.#deps = deps;
    this.#view = view;
  }

  get(name: string): PersistentWorkspace | undefined {
    return this.#view.get(name);
  }

  /** Why no Run may begin in that workspace now; undefined when one may. */
  refusal(name: string): string | undefined {
    if (this.#removing.has(name)) return `workspace ${name} is being removed from this Pod`;
    const workspace = this.#view.get(name);
    // Not in the cache yet: the claim comes first, preparation reads it live.
    if (workspace === undefined) return undefined;
    if (workspace.metadata.deletionTimestamp !== undefined) {
      return `workspace ${name} is being deleted and takes no new Run`;
    }
    const { phase = "Pending" } = workspace.status ?? {};
    return phase === "Bound" ? undefined : `workspace ${name} is ${phase} and takes no new Run`;
  }

  /** A program that was begun by an earlier process of this agent uses, or has used, the workspace of that name. */
  noteUse(name: string): void {
    const { metadata, status } = this.#view.get(name) ?? {};
    if (metadata?.uid !== undefined && status?.boundPodUID === this.#deps.self.podUid) this.#used.add(metadata.uid);
  }

  /**
   * Runs one preparation at a time for each workspace.
   * @param prepare gets a function that tells whether any Run has used the workspace before
   */
  async prepare(
    workspace: PersistentWorkspace,
    prepare: (used: WorkspaceOwner["used"]) => Promise<unknown>,
  ): Promise<void> {
    const uid = workspace.metadata.uid ?? "";
    const before = this.#preparing.get(uid) ?? Promise.resolve();
    const turn = before
      .catch(() => {}) // its own Run has been told
      .then(() => prepare((isThere) => this.#wasUsed(workspace, isThere)))
      .then(() => this.#used.add(uid));
    this.#preparing.set(uid, turn);
    try {
      await turn;
    } finally {
      if (this.#preparing.get(uid) === turn) this.#preparing.delete(uid);
    }
  }

  /**
   * Whether a Run has used it. That the workspace was referred to, which `lastUsedTime` tells, is not enough: the Run may
   * have ended before it began. Only a Run that was claimed here and has ended proves it, when this process has seen none.
   *
   * Without `lastUsedTime` a directory that is not there is new: most are, and nothing is asked for them. One that is there is
   * about to be emptied, so it is looked at closely: the controller may not have written yet that it was used.
   */
  async #wasUsed({ metadata, status }: PersistentWorkspace, isThere: boolean): Promise<boolean> {
    if (this.#used.has(metadata.uid ?? "")) return true;
    if (status?.lastUsedTime === undefined && !isThere) return false;
    const { client, self } = this.#deps;
    const fieldSelector = `status.assignedPod=${self.pod}`;
    const { items } = await client.of(runs).list({ namespace: self.namespace, fieldSelector });
    const made = parseTime(metadata.creationTimestamp) ?? 0;
    const bound = parseTime(status?.boundTime) ?? 0;
    return items.some(
      (run) =>
        run.spec.workspace?.name === metadata.name &&
        run.status?.assignedPodUID === self.podUid &&
        isTerminal(run.status.phase) &&
        run.status.startTime !== undefined &&
        // Not a Run of an earlier workspace of that name. One that waited over the change was made before, and is told by clocks
        // that may differ; for all others it is the API server that says when both were made.
        ((parseTime(run.metadata.creationTimestamp) ?? 0) >= made || (parseTime(run.status.startTime) ?? 0) >= bound),
    );
  }

  /**
   * Removes the directory of a workspace that is being deleted and then its finalizer, unless a Run still refers to it.
   * Writes no status: that is the controller's.
   */
  async cleanUp(cached: PersistentWorkspace): Promise<void> {
    const { name, uid } = cached.metadata;
    if (!this.#isOurs(cached) || this.#view.isReferenced(name)) return;
    const { client, files, logger } = this.#deps;
    // No Run begins in it from here on.
    this.#removing.add(name);
    try {
      // Removal is for ever, and on a volume that Pods share a namesake may have come in its place.
      const live = await orNothing(client.of(persistentWorkspaces).get(cached.metadata));
      if (live === undefined || live.metadata.uid !== uid || !this.#isOurs(live)) return;
      await removeWorkspace(files, workspaceLayout(files.root, name));
      this.#used.delete(uid ?? "");
      const finalizers = live.metadata.finalizers?.filter((one) => one !== workspaceFinalizer);
      const { resourceVersion } = live.metadata;
      await client.of(persistentWorkspaces).patch(live.metadata, { metadata: { uid, resourceVersion, finalizers } });
      logger.info("workspace removed", { workspace: keyOf(live) });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    } finally {
      this.#removing.delete(name);
    }
  }

  /** It is being deleted, and it is this Pod that has the bytes and has not removed them. */
  #isOurs({ metadata, status }: PersistentWorkspace): boolean {
    const { deletionTimestamp, finalizers = [] } = metadata;
    if (deletionTimestamp === undefined || !finalizers.includes(workspaceFinalizer)) return false;
    return status?.boundPodUID === this.#deps.self.podUid;
  }
}
