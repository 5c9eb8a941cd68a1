import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import { workspaceFinalizer } from "#api/labels.ts";
import { persistentWorkspaces } from "#api/resources.ts";
import { isConflict, isNotFound } from "#kube/transport.ts";
import { workspaceLayout } from "#runtime/files/layout.ts";
import { removeWorkspace } from "#runtime/files/workspaces.ts";
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
    if (workspace.metadata.deletionTimestamp !== undefined || workspace.status?.phase !== "Bound") {
      return `workspace ${name} is ${workspace.status?.phase ?? "Pending"} and takes no new Run`;
    }
    return undefined;
  }

  /**
   * Runs one preparation at a time for each workspace.
   * @param prepare gets whether any Run has used the workspace before
   */
  async prepare(workspace: PersistentWorkspace, prepare: (used: boolean) => Promise<unknown>): Promise<void> {
    const uid = workspace.metadata.uid ?? "";
    const before = this.#preparing.get(uid) ?? Promise.resolve();
    const turn = before
      .catch(() => {}) // its own Run has been told
      .then(() => prepare(this.#used.has(uid) || workspace.status?.lastUsedTime !== undefined))
      .then(() => this.#used.add(uid));
    this.#preparing.set(uid, turn);
    try {
      await turn;
    } finally {
      if (this.#preparing.get(uid) === turn) this.#preparing.delete(uid);
    }
  }

  /**
   * Removes the directory of a workspace that is being deleted and then its finalizer, unless a Run still refers to it.
   * Writes no status: that is the controller's.
   */
  async cleanUp(workspace: PersistentWorkspace): Promise<void> {
    const { name, uid, resourceVersion, deletionTimestamp, finalizers = [] } = workspace.metadata;
    if (deletionTimestamp === undefined || !finalizers.includes(workspaceFinalizer)) return;
    if (workspace.status?.boundPodUID !== this.#deps.self.podUid) return;
    if (this.#removing.has(name) || this.#view.isReferenced(name)) return;
    this.#removing.add(name);
    try {
      await removeWorkspace(this.#deps.files, workspaceLayout(this.#deps.files.root, name));
      this.#used.delete(uid ?? "");
      const rest = finalizers.filter((one) => one !== workspaceFinalizer);
      const patch = { metadata: { uid, resourceVersion, finalizers: rest } };
      await this.#deps.client.of(persistentWorkspaces).patch(workspace.metadata, patch);
      this.#deps.logger.info("workspace removed", { workspace: `${workspace.metadata.namespace}/${name}` });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error; // gone, or changed meanwhile
    } finally {
      this.#removing.delete(name);
    }
    // What changed meanwhile came while we did not listen, or its event is still on its way.
    const current = this.#view.get(name);
    if (current !== undefined && current.metadata.uid === uid && current.metadata.resourceVersion !== resourceVersion) {
      await this.cleanUp(current);
    }
  }
}
