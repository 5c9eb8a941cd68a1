/** Commands of the guides and examples, as processes: they do what the guides say. */
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  exampleRepository,
  type GitServer,
  startGitServer,
  withRepository,
} from "../integration/support/git-server.ts";
import { krt, root, steady, workDirectory } from "../integration/support/krt.ts";
import { readGuide } from "./support/guide.ts";

const quickStart = await readFile(join(root, "docs/quick-start.md"), "utf8");
const commands = readGuide(quickStart);
const scripts = JSON.parse(await readFile(join(root, "package.json"), "utf8")).scripts as Record<string, string>;

let directory = "";

beforeAll(async () => {
  directory = await workDirectory();
  await symlink(join(root, "examples"), join(directory, "examples"));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

/** Arguments of `krt` in a command as people type it. */
function argumentsOf(command: string): string[] {
  const script = /^npm run (\w+)$/.exec(command)?.[1];
  const [, args] =
    /^(?:npx krt|node bin\/krt\.mjs) (.+)$/.exec(script === undefined ? command : (scripts[script] ?? "")) ?? [];
  if (args === undefined) throw new Error(`no test knows how to run ${command}`);
  return args.split(" ");
}

test("the guide has commands", () => {
  expect(commands.filter(({ setup }) => setup).map(({ command }) => command)).toEqual(["npm ci"]);
  expect(commands.length).toBeGreaterThan(5);
});

test.each(commands.filter(({ setup }) => !setup))("quick start: $command", async ({ command, files, exit, shown }) => {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(directory, dirname(path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  // How long a command takes that does nothing: on a busy machine more, as everything.
  const { ms: bareMs } = await krt(["--help"]);
  const { code, out, err, left, ms } = await krt(argumentsOf(command), { cwd: directory });
  expect({ code, processes: left.processes }, `${out}${err}`).toEqual({ code: exit, processes: [] });
  if (command === "npm run demo") expect(ms).toBeLessThan(Math.max(10_000, 50 * bareMs));
  for (const text of shown) expect(steady(`${out}${err}`)).toContain(steady(text));
});

/** What each example comes to. */
const examples: Record<string, readonly RegExp[]> = {
  "run-bash": [/^hello \| Hello, world, from Run hello$/m, /^✔ hello {2}Succeeded/m],
  "run-python": [/^primes \| 25 primes below 100$/m, /^✔ primes {2}Succeeded .*\n {3}largest = 97$/m],
  retry: [
    /^flaky Pending BackingOff: attempt 1 of 3 failed \(ExitNonZero/m,
    /^flaky \| attempt 3 reached the service$/m,
    /^✔ flaky {2}Succeeded .* attempt 3$/m,
  ],
  timeout: [
    /^patient Pending BackingOff: attempt 1 of 2 failed \(Timeout/m,
    /^patient \| attempt 2 was quick$/m,
    /^✔ patient {2}Succeeded .* attempt 2$/m,
  ],
  // What a quick Run prints may be seen before it is seen to run.
  affinity: [
    /^noisy \| done with the noise$[\s\S]*^quiet Running$/m,
    /^noisy \| done with the noise$[\s\S]*^quiet \| now it is calm$/m,
  ],
  secrets: [
    /^report \| Good morning, a password of 28 characters$/m,
    /^report \| this line would show it: \*\*\*$/m,
    /^report \| proxy: none$/m,
    /^✔ report {2}Succeeded/m,
  ],
  "private-repository": [/^build \| built from a private repository$/m, /^✔ build {2}Succeeded/m],
  priority: [
    /^urgent \| first$[\s\S]*^ordinary \| second$[\s\S]*^nightly \| third$/m,
    /^✔ urgent {2}Succeeded/m,
    /^✔ nightly {2}Succeeded/m,
  ],
  outputs: [/^announce\/say \| Released v1\.4\.2$/m, /tag = v1\.4\.2$/m],
  "fan-out": [/^report\/say \| The sums are 20 and 25$/m, /^✔ fan-out-\w+ {2}Succeeded .* 3\/3 jobs$/m],
  release: [
    /^test\.2\/check \| size 2, fast, on stable$/m,
    /^build\/approve Suspended WaitsForResume: Release 1\.4\.2\?$/m,
    /^report\/say \| build success, sum \d+$/m,
    /^report\/say \| published at nowhere$/m,
    /^✔ release {2}Succeeded .* 6\/6 jobs$/m,
  ],
  "retry-inputs": [/^deploy\.1\/deploy \| deployed to south$/m, /^report\/say \| the regions are north and south$/m],
  actions: [
    /^deploy\/approve Suspended WaitsForResume: Where is it to go\?$/m,
    /^deploy\/deploy \| deployed to staging$/m,
    /^tidy\/tidy \| tidied up$/m,
    /^✔ rollout {2}Succeeded .* 3\/3 jobs$/m,
  ],
  "workspace-volume": [/^use \| fetched once$/m, /^✔ fill {2}Succeeded/m, /^✔ use {2}Succeeded/m],
  "workspace-shared": [/^reader \| written by writer$/m, /^✔ writer {2}Succeeded/m, /^✔ reader {2}Succeeded/m],
  artifacts: [
    /^publish\/upload \| <h1>Hello<\/h1>$/m,
    /^publish\/upload \| spelling is fine$/m,
    /^✔ site-\w+ {2}Succeeded .* 4\/4 jobs$/m,
  ],
  "data-sharing": [/^deploy\/verify-artifact \| artifact verified$/m, /dist\.tgz {2}\d+ B {2}sha256:[0-9a-f]{64}$/m],
};

/** @returns the directory of the example as a reader would change it for the server */
async function privateExample(name: string, server: GitServer): Promise<string> {
  const text = await readFile(join(root, "examples", name, "run.yaml"), "utf8");
  await mkdir(join(directory, name));
  await writeFile(join(directory, name, "run.yaml"), withRepository(text, server));
  return join(directory, name);
}

/** Examples of what a local cluster does not have; they are run on a real one. */
const forClusters = ["workspace-permissions"];

test.each(Object.entries(examples))("example %s", async (name, texts) => {
  await using server = name === "private-repository" ? await startGitServer(exampleRepository) : undefined;
  const example = server === undefined ? `examples/${name}` : await privateExample(name, server);
  const { code, out, err, left } = await krt(["local", "run", example, "--follow"]);
  expect({ code, err, left }, out).toEqual({ code: 0, err: "", left: { directories: [], processes: [] } });
  for (const text of texts) expect(out).toMatch(text);
});

test("every example is tested, is in the index, and says at its beginning what it shows", async () => {
  const entries = await readdir(join(root, "examples"), { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  expect(names.sort()).toEqual([...Object.keys(examples), ...forClusters].sort());
  const index = await readFile(join(root, "examples/README.md"), "utf8");
  for (const name of names) {
    expect(index).toContain(`](${name}/`);
    const files = (await readdir(join(root, "examples", name))).filter((file) => file.endsWith(".yaml"));
    const [first = ""] = files.sort();
    const text = await readFile(join(root, "examples", name, first), "utf8");
    expect(text).toMatch(/^# \S/);
    // The workflow of the specification stands as it is there; its Runtime has the words.
    if (name !== "data-sharing" && !forClusters.includes(name))
      expect(text).toContain(`#   npx krt local run examples/${name} --follow\n`);
  }
});
