import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { argvOf, findInterpreter, findProgram, startFailure } from "#runtime/executor/interpreter.ts";

let directory = "";

beforeAll(async () => {
  directory = await mkdtemp(`${tmpdir()}/interpreter-`);
  const put = async (name: string, content: string, mode: number) => {
    await writeFile(`${directory}/${name}`, content);
    await chmod(`${directory}/${name}`, mode);
  };
  await mkdir(`${directory}/only-python`);
  await mkdir(`${directory}/both`);
  await put("only-python/python", "", 0o755);
  await put("only-python/bash", "", 0o644);
  await put("both/python", "", 0o755);
  await put("both/python3", "", 0o755);
  await put("plain", "echo hello\n", 0o644);
  await put("shebang", "#!/bin/sh\necho hello\n", 0o755);
  await put("shebang-not-executable", "#!/bin/sh\n", 0o644);
  await put("executable-without-shebang", "echo hello\n", 0o755);
  await put("empty", "", 0o755);
  await put("no-interpreter", "#!/opt/none/perl -w\n", 0o755);
  await put("windows", "#!/bin/sh\r\necho\r\n", 0o755);
});

afterAll(() => rm(directory, { recursive: true }));

test("python3 is preferred to python, python does too", () => {
  expect(findInterpreter({ interpreter: "python" }, `${directory}/both`)).toEqual({ command: ["python3", "-u"] });
  expect(findInterpreter({ interpreter: "python" }, `/none:${directory}/only-python`)).toEqual({
    command: ["python", "-u"],
  });
});

test("an image without the interpreter is a problem with advice", () => {
  const { problem } = findInterpreter({ interpreter: "bash" }, `${directory}/only-python`); // there, but not executable
  expect(problem).toBe("the image has no bash in PATH: use an image that has it, or set spec.server.command");
  expect(findInterpreter({ interpreter: "node" }, "").problem).toContain("no node in PATH");
});

test("a command of the Runtime is used as it is, and checked", () => {
  const command = [`${directory}/both/python`, "-X", "dev"];
  expect(findInterpreter({ command }, "")).toEqual({ command });
  expect(findInterpreter({ command: ["/none/x"] }, "").problem).toBe(
    "/none/x of spec.server.command is not in the image",
  );
  expect(findInterpreter({ command: [] }, "").problem).toBeDefined();
});

test("programs are found as a shell finds them", () => {
  expect(findProgram("python", `/none:${directory}/both`)).toBe(`${directory}/both/python`);
  expect(findProgram(`${directory}/both/python`, undefined)).toBe(`${directory}/both/python`);
  expect(findProgram("both", directory)).toBeUndefined(); // a directory
  expect(findProgram("sh", undefined)).toMatch(/bin\/sh$/);
});

const base = { runUid: "u", attempt: 1, bootId: "b", env: {} };

const commands: Record<string, { script?: string; interpreter?: string[]; want: string[] }> = {
  "a plain script goes through the standard interpreter": { script: "plain", want: ["bash", "DIR/plain", "a", "b"] },
  "a script with shebang is executed itself": { script: "shebang", want: ["DIR/shebang", "a", "b"] },
  "a shebang without permission to execute goes through the interpreter": {
    script: "shebang-not-executable",
    want: ["bash", "DIR/shebang-not-executable", "a", "b"],
  },
  "permission to execute without shebang goes through the interpreter": {
    script: "executable-without-shebang",
    want: ["bash", "DIR/executable-without-shebang", "a", "b"],
  },
  "an empty script goes through the interpreter": { script: "empty", want: ["bash", "DIR/empty", "a", "b"] },
  "the request's interpreter wins over the standard": {
    script: "plain",
    interpreter: ["sh", "-e"],
    want: ["sh", "-e", "DIR/plain", "a", "b"],
  },
  "no interpreter words mean the standard": { script: "plain", interpreter: [], want: ["bash", "DIR/plain", "a", "b"] },
  "a shebang wins over the request's interpreter": {
    script: "shebang",
    interpreter: ["sh"],
    want: ["DIR/shebang", "a", "b"],
  },
  "without a script the arguments are the command": { want: ["a", "b"] },
};

test.each(Object.entries(commands))("%s", (_, { script, interpreter, want }) => {
  const request = {
    ...base,
    workingDir: directory,
    args: ["a", "b"],
    ...(script === undefined ? {} : { script: `${directory}/${script}` }),
    ...(interpreter === undefined ? {} : { interpreter }),
  };
  expect(argvOf(request, ["bash"])).toEqual(want.map((word) => word.replace("DIR", directory)));
});

test("a missing directory, a missing script and a script that is no file cannot be started", () => {
  const message = (over: object) => argvOf({ ...base, workingDir: directory, args: [], ...over }, ["bash"]);
  expect(message({ workingDir: "/none" })).toEqual({
    exitCode: 127,
    message: "the working directory /none does not exist",
  });
  expect(message({ script: "/none/x" })).toMatchObject({ exitCode: 127 });
  expect(message({ script: directory })).toMatchObject({ exitCode: 127 });
  expect(message({ script: "/dev/null" })).toMatchObject({ exitCode: 127 });
});

const failure = (code: string) => Object.assign(new Error(`spawn ${code}`), { code });

const failures: Record<string, { error: Error; program: string; exitCode: number; says: string }> = {
  "a program that is not there": {
    error: failure("ENOENT"),
    program: "frob",
    exitCode: 127,
    says: "frob was not found",
  },
  "a script whose interpreter is not there": {
    error: failure("ENOENT"),
    program: "DIR/no-interpreter",
    exitCode: 127,
    says: '"/opt/none/perl -w", was not found',
  },
  "a script with Windows line ends": {
    error: failure("ENOENT"),
    program: "DIR/windows",
    exitCode: 127,
    says: "carriage return: save the file with Unix line ends",
  },
  "a program without permission": { error: failure("EACCES"), program: "x", exitCode: 126, says: "not executable" },
  "a file that is no program": { error: failure("ENOEXEC"), program: "x", exitCode: 126, says: "begins with #!" },
  "too much to hand over": { error: failure("E2BIG"), program: "x", exitCode: 126, says: "128 KiB each item" },
  "no room for a process": { error: failure("EAGAIN"), program: "x", exitCode: 126, says: "at its limit of processes" },
  "anything else": { error: failure("EIO"), program: "x", exitCode: 126, says: "spawn EIO" },
};

test.each(Object.entries(failures))("%s is explained", (_, { error, program, exitCode, says }) => {
  const result = startFailure(error, [program.replace("DIR", directory)]);
  expect(result.exitCode).toBe(exitCode);
  expect(result.message).toContain(says);
});
