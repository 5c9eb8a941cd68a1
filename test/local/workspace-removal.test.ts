/** The removal of a workspace's directory, on a real file system, by an agent that is killed in the middle of it. */
import { chmod, link, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import { persistentWorkspaces } from "#api/resources.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { openSystemFiles } from "#runtime/files/system-files.ts";
import { AgentWorld } from "../integration/support/agent-world.ts";

/** Called before and after each call of the system by which the agent changes or opens something. */
const system = vi.hoisted(() => ({ watcher: (_name: string, _when: "before" | "after") => {} }));

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  const watched = ["access", "chmod", "lstat", "open", "opendir", "readlink", "rename", "rmdir", "unlink"] as const;
  const wrap =
    (name: string, call: (...args: never[]) => Promise<unknown>) =>
    async (...args: never[]) => {
      system.watcher(name, "before");
      const result = await call(...args);
      try {
        system.watcher(name, "after");
      } catch (death) {
        // What a process had open is closed when it dies.
        if (name === "open" || name === "opendir") await (result as { close(): Promise<void> }).close();
        throw death;
      }
      return result;
    };
  return { ...real, ...Object.fromEntries(watched.map((name) => [name, wrap(name, real[name] as never)])) };
});

const namespace = "default";
let base = "";
let world: AgentWorld | undefined;
afterEach(async () => {
  system.watcher = () => {};
  await end();
});

async function end(): Promise<void> {
  world?.crash();
  world?.api.close();
  world = undefined;
  if (base !== "") await rm(base, { recursive: true, force: true });
}

/** A volume with the workspace `doomed`, another one beside it, files of a Run, and something outside of the volume. */
async function arrange(depth: number): Promise<{ world: AgentWorld; root: string }> {
  base = await mkdtemp(join(tmpdir(), "krt-removal-"));
  const root = join(base, "workspace");
  const doomed = join(root, "persistent/doomed");
  await mkdir(root);
  const made = new AgentWorld({ files: await openSystemFiles(root) });
  world = made;
  // Pods may share a volume: this Run is at work in another one.
  const { metadata } = await made.createRun("elsewhere");
  for (const name of ["outside", "workspace/persistent/beside/.kruntimes", `workspace/runs/${metadata.uid}/src`]) {
    await mkdir(join(base, name), { recursive: true });
    await writeFile(join(base, name, "file"), name);
  }
  await mkdir(join(doomed, ".kruntimes"), { recursive: true });
  await mkdir(join(doomed, "empty"));
  await mkdir(join(doomed, "full/locked"), { recursive: true });
  await writeFile(join(doomed, "full/locked/file"), "x", { mode: 0o400 });
  await link(join(base, "outside/file"), join(doomed, "full/hard"));
  await symlink("../../../outside", join(doomed, "full/out"));
  await symlink("../beside", join(doomed, "beside"));
  await symlink("nowhere", join(doomed, "dangling"));
  if (depth > 0) {
    const deep = Array.from({ length: depth }, () => "d").join("/");
    await mkdir(join(doomed, deep), { recursive: true });
    await writeFile(join(doomed, deep, "bottom"), "x");
  }
  await chmod(join(doomed, "full/locked"), 0o500);
  for (const name of ["beside", "doomed"]) await made.createWorkspace(name);
  return { world: made, root };
}

const workspace = (name: string): Promise<PersistentWorkspace | undefined> =>
  orNothing((world as AgentWorld).client.of(persistentWorkspaces).get({ name, namespace }));

/** Everything below a directory but the doomed workspace: path, kind, mode, content. */
async function contentOf(directory: string, from = directory): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await readdir(directory)).sort()) {
    const path = join(directory, name);
    if (path.endsWith("persistent/doomed")) continue;
    const info = await lstat(path);
    const shown = `${relative(from, path)} ${(info.mode & 0o7777).toString(8)}`;
    if (info.isDirectory()) found.push(`${shown} /`, ...(await contentOf(path, from)));
    else found.push(`${shown} ${await readFile(path, "utf8")}`);
  }
  return found;
}

interface Death {
  /** Which of the calls that have this in their names, from 0. */
  readonly target: number;
  readonly among?: RegExp;
  readonly when: "before" | "after";
  /** How deep the tree is. */
  readonly depth?: number;
}

/** Kills the agent at that call, and lets another one go on. Tells at which call it was, or that there was none. */
async function killAt({ target, among = /./, when, depth = 0 }: Death): Promise<string | undefined> {
  const { world: made, root } = await arrange(depth);
  const before = await contentOf(base);
  const { uid } = (await workspace("beside"))?.metadata ?? {};
  let seen = 0;
  let killedAt: string | undefined;
  let removing = false;
  const point = (name: string, where: "before" | "after") => {
    if (!removing || killedAt !== undefined || where !== when || !among.test(name) || seen++ !== target) return;
    killedAt = name;
    made.crash();
    // What a dead process was about to do does not happen, and it does not learn what happened.
    throw new Error("the agent is dead");
  };
  system.watcher = (name, where) => point(`system ${name}`, where);
  made.watcher = (name, where) => {
    if (!/^(api|files)/.test(name)) return;
    try {
      point(name, where);
    } catch {
      // The world ends its calls itself.
    }
  };
  made.start();
  await made.until(() => made.agent?.ready === true);
  removing = true;
  await made.client.of(persistentWorkspaces).delete({ name: "doomed", namespace });
  await made.until(async () => killedAt !== undefined || (await workspace("doomed")) === undefined);
  system.watcher = () => {};
  if (killedAt !== undefined) {
    made.start();
    await made.until(async () => (await workspace("doomed")) === undefined);
  }
  const label = `killed ${when} call ${target}, ${killedAt}`;
  expect([label, await readdir(join(root, "persistent"))]).toEqual([label, ["beside"]]);
  expect([label, await contentOf(base)]).toEqual([label, before]);
  const beside = await workspace("beside");
  expect([label, beside?.metadata.uid, beside?.metadata.finalizers?.length]).toEqual([label, uid, 1]);
  await end();
  return killedAt;
}

test("an agent killed at any call of a removal is followed by one that removes exactly that directory, then the finalizer", {
  timeout: 120_000,
}, async () => {
  const killed = new Map<string, number>();
  for (const when of ["before", "after"] as const) {
    for (let target = 0; ; target++) {
      const at = await killAt({ target, when });
      if (at === undefined) break;
      killed.set(at, (killed.get(at) ?? 0) + 1);
    }
  }
  console.log(`killed at ${JSON.stringify(Object.fromEntries(killed))}`);
  for (const call of ["api.request GET", "files.remove", "system rmdir", "system unlink", "api.request PATCH"]) {
    expect(killed.get(call), call).toBeGreaterThan(0);
  }
});

test("the same in a tree so deep that parts of it are moved up before they are removed", {
  timeout: 60_000,
}, async () => {
  const killed: (string | undefined)[] = [];
  for (const when of ["before", "after"] as const) {
    for (const target of [0, 1]) killed.push(await killAt({ target, among: /rename/, when, depth: 140 }));
  }
  expect(killed).toEqual(Array(4).fill("system rename"));
});
