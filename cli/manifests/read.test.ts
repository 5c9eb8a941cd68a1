import { expect, test } from "vitest";
import { CliError, errorLines } from "../errors.ts";
import { fakeFiles } from "../testing/fake-environment.ts";
import { problemsOf, run, runtime, workflow } from "../testing/manifests.ts";
import { nameOf } from "./manifest.ts";
import { readManifests } from "./read.ts";

const files = fakeFiles(
  {
    "runtime.yaml": runtime,
    "dir/b.yml": run,
    "dir/a.yaml": workflow,
    "dir/c.json": '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}',
    "dir/README.md": "# not a manifest",
    "none/README.md": "",
    "latin1.yaml": new Uint8Array([0x61, 0x3a, 0x20, 0xe9]),
    "bad.yaml": "a: [\n",
    "worse.yaml": "kind: Run\n---\nkind: Run\n",
  },
  runtime,
);

test("files, directories and standard input are read in the order given, each once", async () => {
  const manifests = await readManifests(
    ["dir/", "-", "dir/b.yml", "dir/"],
    undefined,
    fakeFiles({ "dir/a.yaml": workflow, "dir/b.yml": "" }, run),
  );
  expect(manifests.map((one) => `${one.file} ${nameOf(one)}`)).toEqual(["dir/a.yaml Workflow ci", "stdin Run hello"]);
});

test("of a directory the manifests are read, by name", async () => {
  const manifests = await readManifests(["dir"], undefined, files);
  expect(manifests.map((one) => `${one.file} ${nameOf(one)}`)).toEqual([
    "dir/a.yaml Workflow ci",
    "dir/b.yml Run hello",
    "dir/c.json Secret s",
  ]);
});

test("the problems of all files are told together", async () => {
  expect(
    await problemsOf(() => readManifests(["worse.yaml", "runtime.yaml", "bad.yaml", "-"], undefined, files)),
  ).toEqual([
    "worse.yaml:1:1: apiVersion is missing. Write e.g. apiVersion: kruntimes.io/v1alpha1.",
    "worse.yaml:3:1: apiVersion is missing. Write e.g. apiVersion: kruntimes.io/v1alpha1.",
    expect.stringMatching(/^bad\.yaml:2:1: flow sequence/),
    "stdin:3:12: Runtime bash was defined before, at runtime.yaml:3. Rename or remove one of them.",
  ]);
});

const unreadable: Record<string, { path: string; want: string[] }> = {
  "a file that is not there": {
    path: "nowhere.yaml",
    want: ["krt: there is no file nowhere.yaml", "     Check the path; `-` reads standard input."],
  },
  "a directory without manifests": {
    path: "none",
    want: [
      "krt: there is no manifest in directory none",
      "     Names of manifests end with .yaml, .yml or .json; directories inside it are not read.",
    ],
  },
  "a file in another encoding": {
    path: "latin1.yaml",
    want: ["krt: latin1.yaml is not text in UTF-8", "     Save it as UTF-8."],
  },
};

test.each(Object.entries(unreadable))("%s", async (_, { path, want }) => {
  const error = await readManifests([path], undefined, files).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CliError);
  expect(errorLines(error as CliError)).toEqual(want);
});

test("a file that may not be read says so", async () => {
  const locked = { ...files, read: () => Promise.reject(Object.assign(new Error("EACCES"), { code: "EACCES" })) };
  await expect(readManifests(["runtime.yaml"], undefined, locked)).rejects.toThrow("runtime.yaml may not be read");
});
