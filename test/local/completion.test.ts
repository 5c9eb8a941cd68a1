import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runs, workflows } from "#api/resources.ts";
import { systemConnect } from "#cli/system/connect.ts";
import { bashRun, namespace } from "../integration/support/cluster.ts";
import { krtHere } from "../integration/support/krt-in-process.ts";

const run = promisify(execFile);

let directory: string;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  directory = await mkdtemp("/tmp/kc-");
  const up = await krtHere("", ["local", "up", "--detach", "--runtimes", "bash", "--state-dir", directory]);
  expect(up.code, up.err).toBe(0);
  const program = `#!/bin/sh\nexec ${process.execPath} ${resolve("bin/krt.mjs")} "$@"\n`;
  await writeFile(join(directory, "krt"), program, { mode: 0o755 });
  const path = [directory, process.env.PATH].join(delimiter);
  env = { ...process.env, PATH: path, KUBECONFIG: join(directory, "kubeconfig"), HOME: directory, TERM: "dumb" };
  const { client, close } = await systemConnect({ file: join(directory, "kubeconfig") });
  await client.of(runs).create(bashRun("hello-world", "true"));
  const jobs = { build: { "runs-on": "bash", steps: [{ name: "one", run: "true" }] } };
  await client.of(workflows).create({ metadata: { name: "release-notes", namespace }, spec: { jobs } });
  await close();
});
afterAll(async () => {
  await krtHere("", ["local", "down", "--state-dir", directory]);
  await rm(directory, { recursive: true, force: true });
});

/** A shell of this machine; it is installed where it is missing and that is possible. */
function shell(name: string): string {
  try {
    return execFileSync("which", [name], { encoding: "utf8" }).trim();
  } catch {
    execFileSync("apt-get", ["install", "-y", name], { stdio: "ignore" });
    return execFileSync("which", [name], { encoding: "utf8" }).trim();
  }
}

/** What a shell makes of a line at whose end Tab is pressed: the words that may stand there. */
const shells: Record<string, (line: string) => Promise<string[]>> = {
  async bash(line) {
    const script = `eval "$(krt completion bash)"
      COMP_WORDS=(${line.endsWith(" ") ? `${line}''` : line}); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
      _krt_complete; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return lines((await run(shell("bash"), ["--norc", "-c", script], { env })).stdout);
  },
  async fish(line) {
    const script = `krt completion fish | source; complete -C '${line}'`;
    return lines((await run(shell("fish"), ["--no-config", "-c", script], { env })).stdout);
  },
  // The completion of zsh works in its line editor only, so it gets a terminal, and the line is read when Tab has changed it.
  async zsh(line) {
    const inner = join(directory, "inner.zsh");
    await writeFile(
      inner,
      `autoload -U compinit; compinit -u -D
       eval "$(krt completion zsh)"
       show() { print -r -- "line<$BUFFER>"; zle kill-whole-line; }
       zle -N show; bindkey '^X' show; PS1='ready> '
      `,
    );
    const script = `zmodload zsh/zpty; zpty z ${shell("zsh")} -f -i
      zpty -w z 'source ${inner}'
      zpty -r -m z seen '*ready> *'
      zpty -w -n z $'${line}\\t\\x18'
      zpty -r -m z seen '*line<*>*'
      print -r -- $seen`;
    const { stdout } = await run(shell("zsh"), ["-f", "-c", script], { env, timeout: 60_000 });
    const completed = /line<([^>]*)>/.exec(stdout)?.[1] ?? stdout;
    return [completed.trim().split(" ").at(-1) ?? ""];
  },
};

const lines = (text: string) => text.split("\n").filter(Boolean);

/** The beginning of a line, and the word that its last one becomes. */
const cases: Record<string, string> = {
  "krt work": "workflow",
  "krt get hel": "hello-world",
  "krt logs -n default hel": "hello-world",
  "krt workflow run rel": "release-notes",
  "krt list --runtime b": "bash",
  "krt explain ExitN": "ExitNonZero",
  "krt list --context krt-l": "krt-local",
};

test.each(Object.keys(shells))("%s completes commands, and names of what is in the cluster", async (name) => {
  for (const [line, word] of Object.entries(cases)) {
    expect([line, await shells[name]?.(line)]).toEqual([line, [word]]);
  }
});

test("all names are offered where nothing is typed yet", async () => {
  for (const name of ["bash", "fish"]) {
    const words = await shells[name]?.("krt get ");
    expect(words).toEqual(expect.arrayContaining(["hello-world"]));
  }
});
