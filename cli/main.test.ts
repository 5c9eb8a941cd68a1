import { expect, test } from "vitest";
import { exitCodeMeanings, exitCodes } from "./exit-codes.ts";
import { runCommand } from "./main.ts";
import { fakeEnvironment, fakeFiles } from "./testing/fake-environment.ts";
import { runtime, workflow } from "./testing/manifests.ts";

const files = fakeFiles({
  "runtime.yaml": runtime,
  "workflow.yaml": workflow,
  "bad.yaml": "kind: Runtime\nmetadata: {name: bash}\n",
});

async function krt(...argv: string[]) {
  const { env, out, err } = fakeEnvironment(files);
  const code = await runCommand(argv, env);
  return { code, out: out.take(), err: err.take() };
}

test("the version", async () => {
  expect(await krt("--version")).toEqual({ code: 0, out: ["1.2.3"], err: [] });
});

test("help names the commands and every exit code", async () => {
  const { code, out, err } = await krt("--help");
  expect({ code, err }).toEqual({ code: 0, err: [] });
  expect(out).toContainEqual(expect.stringMatching(/^ {2}local /));
  for (const [number, meaning] of exitCodeMeanings) {
    expect(out).toContainEqual(expect.stringMatching(new RegExp(`^ +${number} {2}${meaning}$`)));
  }
});

test("every exit code has a meaning", () => {
  expect(exitCodeMeanings.map(([code]) => code)).toEqual(Object.values(exitCodes));
});

test("help of a command has examples", async () => {
  const { code, out } = await krt("local", "run", "--help");
  expect(code).toBe(0);
  expect(out).toContain("    krt local run runtime.yaml workflow.yaml --follow");
});

const mistakes: Record<string, { argv: string[]; want: string[] }> = {
  "a command that is misspelt": {
    argv: ["locl"],
    want: ["krt: there is no command locl", "     Did you mean local?"],
  },
  "a subcommand that is misspelt": {
    argv: ["local", "rn", "x"],
    want: ["krt: there is no command local rn", "     Did you mean run?"],
  },
  "an option that is misspelt": {
    argv: ["local", "run", "x", "--folow"],
    want: ["krt: unknown option '--folow'", "(Did you mean --follow?)", "     See krt local run --help."],
  },
  "no file": {
    argv: ["local", "run"],
    want: ["krt: missing required argument 'FILE'", "     See krt local run --help."],
  },
  "a timeout that is no duration": {
    argv: ["local", "run", "x", "--timeout", "soon"],
    want: [
      "krt: option '--timeout <duration>' argument 'soon' is invalid. Write a duration such as 90s, 5m or 1h.",
      "     See krt local run --help.",
    ],
  },
  "a timeout of nothing": {
    argv: ["local", "run", "x", "--timeout", "0s"],
    want: [
      "krt: option '--timeout <duration>' argument '0s' is invalid. Write a duration such as 90s, 5m or 1h.",
      "     See krt local run --help.",
    ],
  },
  "a file that is not there": {
    argv: ["local", "run", "nowhere.yaml"],
    want: ["krt: there is no file nowhere.yaml", "     Check the path; `-` reads standard input."],
  },
  "a manifest with a mistake": {
    argv: ["local", "run", "bad.yaml"],
    want: [
      "bad.yaml:1:1: apiVersion is missing. Write e.g. apiVersion: kruntimes.io/v1alpha1.",
      "krt: 1 problem in the manifests; nothing was run",
    ],
  },
  "a Runtime that is missing": {
    argv: ["local", "run", "workflow.yaml"],
    want: [
      "workflow.yaml:7:7: Runtime bash is in none of the files. They hold no Runtime at all; name the file that has it, too.",
      "krt: 1 problem in the manifests; nothing was run",
    ],
  },
  "nothing to run": {
    argv: ["local", "run", "runtime.yaml"],
    want: [
      "krt: there is nothing to run: the files hold only Runtime bash",
      "     Name a file with a Workflow, a WorkflowRun or a Run, too.",
    ],
  },
};

test.each(Object.entries(mistakes))("%s", async (_, { argv, want }) => {
  expect(await krt(...argv)).toEqual({ code: exitCodes.usage, out: [], err: want });
});

test("without a command the help is shown, as an answer to a mistake", async () => {
  const { code, out, err } = await krt();
  expect({ code, out }).toEqual({ code: exitCodes.usage, out: [] });
  expect(err[0]).toBe("Usage: krt [options] [command]");
});

test("a fault of ours is not taken for a mistake of the user", async () => {
  const { code, err } = await krt("local", "run", "runtime.yaml", "workflow.yaml");
  expect(code).toBe(exitCodes.platform);
  expect(err[0]).toBe("krt: this is a fault of krt, not of your files: Error: no cluster may be started here");
});
