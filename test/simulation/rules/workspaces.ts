import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import { workspaceFinalizer } from "#api/labels.ts";
import { persistentWorkspaces, runs } from "#api/resources.ts";
import type { Change } from "#local/apiserver/index.ts";
import { runLayout, workspaceLayout } from "#runtime/files/layout.ts";
import { artifactContent } from "../script.ts";
import { resourceOf, type World } from "../world.ts";
import type { PodFacts, Report, Rule, Start } from "./rule.ts";

/**
 * Files that Runs share: they are there for the next Run on the same Pod, go only when nobody uses them, and belong to the
 * workspace that they were written for.
 */
export function workspaceRules(world: World, report: Report): Rule {
  /** Where each workspace was bound, by UID, also after it is gone. */
  const boundTo = new Map<string, string>();
  /** What programs left in the directory of a workspace, by Pod UID and name of the workspace. */
  const contents = new Map<string, Map<string, string>>();

  const keyOf = (pod: PodFacts, workspace: string) => `${pod.uid}/${workspace}`;

  /** The workspace whose directory the path is in, or is. */
  function workspaceAt(pod: PodFacts, path: string): string | undefined {
    const prefix = `${pod.files.root}/persistent/`;
    return path.startsWith(prefix) ? path.slice(prefix.length).split("/")[0] : undefined;
  }

  function checkRemoval(pod: PodFacts, path: string): void {
    const name = workspaceAt(pod, path);
    if (name === undefined || path !== workspaceLayout(pod.files.root, name).directory) return;
    const subject = `PersistentWorkspace ${name} on ${pod.name}`;
    for (const id of pod.running) {
      const run = world.runOf(id.runUid);
      if (run?.spec.workspace?.name === name)
        report("nothing runs in a directory that is removed", subject, `Run ${run.metadata.name}`);
    }
    const hadFiles = contents.delete(keyOf(pod, name));
    if (!hadFiles) return;
    const workspace = world.object(persistentWorkspaces, name);
    if (workspace?.status?.boundPodUID === pod.uid && workspace.metadata.deletionTimestamp === undefined) {
      report("files go only with their workspace", subject, JSON.stringify(workspace.status));
    }
    for (const run of world.objects(runs)) {
      const { phase, assignedPodUID } = run.status ?? {};
      if (
        run.spec.workspace?.name === name &&
        phase === "Running" &&
        assignedPodUID === pod.uid &&
        isSame(workspace, run)
      ) {
        report("no files go while a Run that uses them is at work", subject, `Run ${run.metadata.name}`);
      }
    }
  }

  /** A Run that is older than the workspace was created for a namesake. */
  const isSame = (workspace: PersistentWorkspace | undefined, run: Run) =>
    workspace === undefined || (workspace.metadata.creationTimestamp ?? "") <= (run.metadata.creationTimestamp ?? "");

  function checkStart({ pod, request }: Start): void {
    const run = world.runOf(request.runUid);
    if (run === undefined) return;
    const subject = `Run ${run.metadata.name}`;
    void checkInputs(pod, run, request.attempt, subject);
    const name = run.spec.workspace?.name;
    if (name === undefined) return;
    void checkOwner(pod, name, subject);
    const left = contents.get(keyOf(pod, name)) ?? new Map<string, string>();
    for (const [path, text] of left) void checkFile(pod, path, text, subject);
  }

  async function checkOwner(pod: PodFacts, name: string, subject: string): Promise<void> {
    const marker = await pod.files
      .readFile(workspaceLayout(pod.files.root, name).uidMarker, 256)
      .catch(() => undefined);
    const owner = marker === undefined ? undefined : Buffer.from(marker).toString();
    if (owner === undefined || boundTo.get(owner) !== pod.uid) {
      report("a Run works in a workspace that is bound to its Pod", subject, `${name} of ${owner} on ${pod.name}`);
    }
  }

  async function checkFile(pod: PodFacts, path: string, text: string, subject: string): Promise<void> {
    const found = await pod.files.readFile(path, 10_000).catch(() => undefined);
    if (found !== undefined && Buffer.from(found).toString() === text) return;
    report("files of earlier Runs are there", subject, `${path} on ${pod.name}`);
  }

  /** Inputs are whole, and where the Run expects them. */
  async function checkInputs(pod: PodFacts, run: Run, attempt: number, subject: string): Promise<void> {
    const workspace = run.spec.workspace?.name;
    const layout = runLayout(pod.files.root, {
      runUid: run.metadata.uid ?? "",
      attempt,
      ...(workspace === undefined ? {} : { workspace }),
    });
    for (const { ref, path } of run.spec.artifactInputs ?? []) {
      const producer = ref.location.filesystem?.path.split("/")[1] ?? "";
      const found = await pod.files.readFile(`${layout.workingDirectory}/${path}`, 10_000).catch(() => undefined);
      const text = found === undefined ? "nothing" : Buffer.from(found).toString();
      if (text !== artifactContent(producer, ref.name))
        report("inputs are in place when a Run starts", subject, `${path} is ${text}`);
    }
  }

  function checkChange({ metadata, status }: PersistentWorkspace, type: Change["type"]): void {
    const { uid = "", name, deletionTimestamp, finalizers = [] } = metadata;
    const subject = `PersistentWorkspace ${name}`;
    if (status?.boundPodUID !== undefined) boundTo.set(uid, status.boundPodUID);
    if (type === "DELETED") return;
    if (status?.phase === "Bound" && deletionTimestamp === undefined && !finalizers.includes(workspaceFinalizer)) {
      report("a bound workspace has its finalizer", subject, "");
    }
  }

  return {
    remove: checkRemoval,
    start: checkStart,
    wrote(pod, path, content) {
      const name = workspaceAt(pod, path);
      if (name === undefined || path.includes("/.kruntimes/")) return;
      const files = contents.get(keyOf(pod, name)) ?? new Map<string, string>();
      contents.set(keyOf(pod, name), files.set(path, Buffer.from(content).toString()));
    },
    podRemoved(pod) {
      if (pod.running.length > 0) {
        report("a Pod's directory goes after its processes", `Pod ${pod.name}`, JSON.stringify(pod.running));
      }
      for (const key of contents.keys()) if (key.startsWith(`${pod.uid}/`)) contents.delete(key);
    },
    change({ type, resource, object }) {
      if (resource === resourceOf(persistentWorkspaces)) checkChange(object as unknown as PersistentWorkspace, type);
    },
  };
}
