import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import { persistentWorkspaces } from "#api/resources.ts";
import { isNotFound } from "#kube/transport.ts";
import type { AttemptEvent } from "#machines/attempt.ts";
import { type RunLayout, runLayout, type WorkspaceLayout } from "#runtime/files/layout.ts";
import { prepareRun } from "#runtime/files/runs.ts";
import { prepareWorkspace, WorkspaceLostError } from "#runtime/files/workspaces.ts";
import { SourceFailedError } from "#runtime/source/port.ts";
import type { AgentDeps, Pools } from "./deps.ts";
import { patiently } from "./patience.ts";
import { isTransientApiError } from "./run-status-writer.ts";
import type { Workspaces } from "./workspaces.ts";

/** The paths of the current attempt of a Run. */
export function layoutOf(deps: AgentDeps, run: Run, attempt: number): RunLayout {
  const workspace = run.spec.workspace?.name;
  const runUid = run.metadata.uid ?? "";
  return runLayout(deps.files.root, { runUid, attempt, ...(workspace === undefined ? {} : { workspace }) });
}

/** Name of the script of an inline source. */
const scriptName = "script";

/** Absolute path of the script of the Run; undefined when its arguments are the command. */
export function scriptOf(run: Run, layout: RunLayout): string | undefined {
  const { source, mode } = run.spec;
  if (source?.inline !== undefined) return `${layout.source}/${scriptName}`;
  if (source?.repoURL === undefined) return undefined;
  return `${cloneDirectory(layout)}/${mode?.task?.entrypoint ?? scriptName}`;
}

/** In a workspace the clone stays apart from the shared files; otherwise it is the working directory. */
const cloneDirectory = (layout: RunLayout) =>
  layout.workspace === undefined ? layout.workingDirectory : `${layout.source}/repository`;

/** Makes the directories of the attempt and puts its source in place. */
export async function prepare(
  deps: AgentDeps,
  pools: Pools,
  workspaces: Workspaces,
  run: Run,
  layout: RunLayout,
  signal: AbortSignal,
): Promise<AttemptEvent> {
  try {
    if (layout.workspace !== undefined) await prepareShared(deps, workspaces, run, layout.workspace, signal);
    await prepareRun(deps.files, layout);
    signal.throwIfAborted();
    await placeSource(deps, pools, run, layout, signal);
    return { type: "PREPARED" };
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof WorkspaceLostError) return { type: "FAILED", reason: "WorkspaceLost", message };
    if (error instanceof SourceFailedError) return { type: "FAILED", reason: "SourceFailed", message };
    return { type: "FAILED", reason: "StartFailed", message: `the directories of the Run cannot be made: ${message}` };
  }
}

async function prepareShared(
  deps: AgentDeps,
  workspaces: Workspaces,
  run: Run,
  layout: WorkspaceLayout,
  signal: AbortSignal,
): Promise<void> {
  const name = run.spec.workspace?.name ?? "";
  const workspace = await patiently(() => findWorkspace(deps, workspaces, name), {
    clock: deps.clock,
    random: deps.random,
    signal,
    isTransient: isTransientApiError,
  });
  const uid = workspace?.metadata.uid;
  if (workspace === undefined || uid === undefined) throw new WorkspaceLostError(`workspace ${name} was deleted`);
  if (workspace.status?.boundPodUID !== deps.self.podUid || workspace.status.phase === "Lost") {
    throw new WorkspaceLostError(`workspace ${name} is not bound to this Pod; its files are gone`);
  }
  await workspaces.prepare(workspace, (used) => prepareWorkspace(deps.files, layout, { uid, used }));
}

async function findWorkspace(
  deps: AgentDeps,
  workspaces: Workspaces,
  name: string,
): Promise<PersistentWorkspace | undefined> {
  const cached = workspaces.get(name);
  if (cached !== undefined) return cached;
  try {
    return await deps.client.of(persistentWorkspaces).get({ name, namespace: deps.self.namespace });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function placeSource(
  deps: AgentDeps,
  pools: Pools,
  run: Run,
  layout: RunLayout,
  signal: AbortSignal,
): Promise<void> {
  const { source } = run.spec;
  if (source?.inline !== undefined) {
    await deps.files.writeFile(`${layout.source}/${scriptName}`, Buffer.from(source.inline), 0o755);
    return;
  }
  if (source?.repoURL === undefined) return;
  const directory = cloneDirectory(layout);
  await deps.files.makeDirectory(directory);
  const { repoURL: url, commitSHA: ref } = source;
  const request = { url, directory, ...(ref === undefined ? {} : { ref }) };
  await pools.clone.run(() => deps.git.fetch(request, signal), signal);
}
