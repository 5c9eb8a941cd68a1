import type { Command } from "commander";
import { expect, test } from "vitest";
import { createProgram } from "../program.ts";
import { fakeEnvironment } from "../testing/fake-environment.ts";
import { argumentKinds, nextOf } from "./next.ts";

const program = createProgram(fakeEnvironment().env, () => {});
const next = (line: string) => nextOf(program, line.split(" ").filter(Boolean));

test("commands, then their commands, then their flags", () => {
  expect(next("").words).toEqual(expect.arrayContaining(["run", "list", "workflow", "local"]));
  expect(next("").words).not.toContain("__complete");
  expect(next("wf").words).toEqual(expect.arrayContaining(["run", "list", "get", "watch"]));
  expect(next("local pod kill").words).toEqual(["--container", "--state-dir"]);
  expect(next("list --phase Failed").words).not.toContain("--phase");
  expect(next("get hello").words).toContain("--output");
});

const kinds: Record<string, string | undefined> = {
  get: "run",
  "get one -o json": "run",
  "ls -r": "runtime",
  "ls --phase": "runPhase",
  "wf ls --phase": "workflowRunPhase",
  "workflow run": "workflow",
  "workflow run ci": undefined,
  "wf watch -n team": "workflowRun",
  "artifact download": "runOrWorkflowRun",
  "artifact download build": "free",
  "get -n": "namespace",
  "get --context": "context",
  explain: "reason",
  "get -o": "format",
  "run --file": "file",
  "run --": "file",
  "run -- get": "file",
  "workflow run --filename": "file",
  "local pod kill": "pod",
};

test.each(Object.entries(kinds))("krt %s: a %s", (line, kind) => {
  expect(next(line).kind).toBe(kind);
});

test("where the names are asked for, and which stand there already", () => {
  expect(next("wait a b -n team --kubeconfig=/x")).toMatchObject({
    taken: ["a", "b"],
    cluster: { namespace: "team", kubeconfig: "/x" },
  });
});

test("each argument of each command is of a known kind", () => {
  const unknown: string[] = [];
  const look = (command: Command, path: readonly string[]) => {
    for (const one of command.commands.filter((each) => !each.name().startsWith("_"))) {
      const words = [...path, one.name()];
      const known = argumentKinds[words.join(" ")] ?? [];
      if (one.registeredArguments.length !== known.length) unknown.push(words.join(" "));
      look(one, words);
    }
  };
  look(program, []);
  expect(unknown).toEqual([]);
});
