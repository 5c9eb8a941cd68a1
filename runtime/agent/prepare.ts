import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { RunFailureReason } from "#api/reasons.ts";
import { persistentWorkspaces } from "#api/resources.ts";
import { orNothing } from "#kube/or-nothing.ts";
import type { AttemptEvent } from "#machines/attempt.ts";
import { type RunLayout, runLayout, type WorkspaceLayout } from "#runtime/files/layout.ts";
import { prepareRun } from "#runtime/files/runs.ts";
import { prepareWorkspace, WorkspaceLostError } from "#runtime/files/workspaces.ts";
import { type ProgramEnvironment, programEnvironment } from "#runtime/references/environment.ts";
import { Lookup } from "#runtime/references/lookup.ts";
import { MissingReferenceError } from "#runtime/references/port.ts";
import { gitCredentials } from "#runtime/source/credentials.ts";
import { SourceFailedError } from "#runtime/source/port.ts";
import { fetchGitSource, writeInlineSource } from "#runtime/source/prepare.ts";
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

/** The answer of the preparation, and what the program is started with. */
export interface Prepared {
  readonly event: AttemptEvent;
  /** Absolute path of the script; none when the arguments are the command. */
  readonly script?: string;
  readonly variables?: ProgramEnvironment;
}

/** Reads what the Run refers to, makes the directories of the attempt, and puts its source in place. */
export async function prepare(
  deps: AgentDeps,
  pools: Pools,
  workspaces: Workspaces,
  run: Run,
  layout: RunLayout,
  signal: AbortSignal,
): Promise<Prepared> {
  const lookup = new Lookup(deps.references, deps.self.runtime);
  try {
    const variables = await programEnvironment(run.spec, lookup);
    if (layout.workspace !== undefined) await prepareShared(deps, workspaces, run, layout.workspace, signal);
    await prepareRun(deps.files, layout);
    signal.throwIfAborted();
    const script = await placeSource(deps, pools, lookup, run, layout, signal);
    return { event: { type: "PREPARED" }, variables, ...(script === undefined ? {} : { script }) };
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    const failed = (reason: RunFailureReason, text = message): Prepared => ({
      event: { type: "FAILED", reason, message: text },
    });
    if (error instanceof MissingReferenceError) return failed("SecretNotAvailable");
    if (error instanceof WorkspaceLostError) return failed("WorkspaceLost");
    if (error instanceof SourceFailedError) return failed("SourceFailed");
    return failed("StartFailed", `the directories of the Run cannot be made: ${message}`);
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
  { client, self }: AgentDeps,
  workspaces: Workspaces,
  name: string,
): Promise<PersistentWorkspace | undefined> {
  const { namespace } = self;
  return workspaces.get(name) ?? orNothing(client.of(persistentWorkspaces).get({ name, namespace }));
}

async function placeSource(
  { files, git }: AgentDeps,
  pools: Pools,
  lookup: Lookup,
  run: Run,
  layout: RunLayout,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { source, mode } = run.spec;
  if (source?.inline !== undefined) return writeInlineSource(files, layout, source.inline);
  if (source?.repoURL === undefined) return undefined;
  const secret = source.credentialsSecretName;
  const request = {
    url: source.repoURL,
    ...(secret === undefined
      ? {}
      : { credentials: gitCredentials(source.repoURL, secret, await lookup.data("Secret", secret)) }),
    ...(source.commitSHA === undefined ? {} : { ref: source.commitSHA }),
    ...(mode?.task?.entrypoint === undefined ? {} : { entrypoint: mode.task.entrypoint }),
  };
  const { script } = await pools.clone.run(() => fetchGitSource(files, git, layout, request, signal), signal);
  return script;
}
