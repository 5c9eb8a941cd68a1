import { reservedDirectory } from "#api/paths.ts";

/** Where the files of Runs lie below the workspace volume: names only, nothing is made here. */

export interface WorkspaceLayout {
  /** The workspace directory: working directory of its Runs. */
  readonly directory: string;
  /** `.kruntimes` inside it. */
  readonly reserved: string;
  /** Holds the UID of the PersistentWorkspace that the content belongs to. */
  readonly uidMarker: string;
  /** Who staged which input: lets a later attempt replace what an earlier one put there. */
  readonly staged: string;
  /** HOME of every Run in it, so that steps of a job share caches and tool settings. */
  readonly home: string;
}

export interface RunLayout {
  readonly root: string;
  /** Present when the Run names a workspace. */
  readonly workspace?: WorkspaceLayout;
  /** Current directory of the process. */
  readonly workingDirectory: string;
  /** Everything of ours for all attempts of this Run. */
  readonly runDirectory: string;
  /** Everything of ours for this attempt. */
  readonly attemptDirectory: string;
  /** Scripts, and clones where the working directory is a workspace. */
  readonly source: string;
  /** The file KRUNTIME_OUTPUTS. */
  readonly outputs: string;
  /** KRUNTIME_ARTIFACTS_DIR. */
  readonly artifacts: string;
  /** Inputs while they are being received; they are renamed to their destination when complete. */
  readonly inputs: string;
  /** TMPDIR. */
  readonly tmp: string;
  /** HOME. */
  readonly home: string;
  /** Who staged which input. */
  readonly staged: string;
}

export interface RunIdentity {
  readonly runUid: string;
  /** From 1. */
  readonly attempt: number;
  /** Name of the PersistentWorkspace. */
  readonly workspace?: string;
}

/** The directory `persistent/<name>` of a workspace; for root `/workspace` the literal that status.path shows. */
export function workspaceLayout(root: string, name: string): WorkspaceLayout {
  const directory = `${root}/persistent/${component(name)}`;
  const reserved = `${directory}/${reservedDirectory}`;
  return {
    directory,
    reserved,
    uidMarker: `${reserved}/workspace-uid`,
    staged: `${reserved}/staged`,
    home: `${reserved}/home`,
  };
}

/** All paths of one attempt of a Run. */
export function runLayout(root: string, run: RunIdentity): RunLayout {
  if (!Number.isSafeInteger(run.attempt) || run.attempt < 1) throw new RangeError(`${run.attempt} is not an attempt`);
  const workspace = run.workspace === undefined ? undefined : workspaceLayout(root, run.workspace);
  const runDirectory = `${workspace?.reserved ?? `${root}/${reservedDirectory}`}/runs/${component(run.runUid)}`;
  const attemptDirectory = `${runDirectory}/${run.attempt}`;
  return {
    root,
    ...(workspace && { workspace }),
    workingDirectory: workspace?.directory ?? `${root}/runs/${component(run.runUid)}`,
    runDirectory,
    attemptDirectory,
    source: `${attemptDirectory}/source`,
    outputs: `${attemptDirectory}/outputs`,
    artifacts: `${attemptDirectory}/artifacts`,
    inputs: `${attemptDirectory}/inputs`,
    tmp: `${attemptDirectory}/tmp`,
    home: workspace?.home ?? `${runDirectory}/home`,
    staged: workspace?.staged ?? `${runDirectory}/staged`,
  };
}

/** The two places that hold one directory for each Run without a workspace: working directories, and files of ours. */
export function runParents(root: string): readonly [string, string] {
  return [`${root}/runs`, `${root}/${reservedDirectory}/runs`];
}

/** Whether a name can be that of a Run's or a workspace's directory: a Kubernetes name or UID. */
export function isDirectoryName(name: string): boolean {
  return /^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/.test(name);
}

// Names and UIDs come from the API server, which has checked them; a slash here would be a bug, and a dangerous one.
function component(name: string): string {
  if (!isDirectoryName(name)) throw new RangeError(`"${name}" is not a Kubernetes name or UID`);
  return name;
}
