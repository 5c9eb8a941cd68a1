import { expect, test } from "vitest";
import { createProgram } from "../program.ts";
import { fakeEnvironment } from "../testing/fake-environment.ts";
import { completions } from "./completion.ts";

const program = createProgram(fakeEnvironment().env, () => {});

test("commands, then their commands, then their flags", () => {
  expect(completions(program, [])).toEqual(expect.arrayContaining(["run", "list", "workflow", "local"]));
  expect(completions(program, [])).not.toContain("__complete");
  expect(completions(program, ["wf"])).toEqual(["run", "list", "get", "watch"]);
  expect(completions(program, ["local", "pod", "kill"])).toEqual(["--container", "--state-dir"]);
  expect(completions(program, ["list", "--phase", "Failed"])).not.toContain("--phase");
});
