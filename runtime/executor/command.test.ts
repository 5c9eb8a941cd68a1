import { expect, test } from "vitest";
import { parseFlags } from "#runtime/executor/command.ts";

test("an interpreter by name, or a command word by word", () => {
  expect(parseFlags(["--socket=/run/s", "--interpreter=python"])).toEqual({
    socketPath: "/run/s",
    interpreter: "python",
  });
  expect(parseFlags(["--socket=/run/s", "--command=ruby", "--command=-W0"])).toEqual({
    socketPath: "/run/s",
    command: ["ruby", "-W0"],
  });
});

const bad: Record<string, { args: string[]; says: string }> = {
  "no socket": { args: ["--interpreter=bash"], says: "--socket=PATH is missing" },
  "an empty socket": { args: ["--socket=", "--interpreter=bash"], says: "--socket=PATH is missing" },
  "nothing to run scripts": {
    args: ["--socket=/s"],
    says: "--interpreter or --command is missing; interpreters are bash, python, node",
  },
  "an unknown interpreter": { args: ["--socket=/s", "--interpreter=perl"], says: "unknown --interpreter=perl" },
  both: { args: ["--socket=/s", "--interpreter=bash", "--command=sh"], says: "not both" },
  "an unknown flag": { args: ["--socket=/s", "--interpreter=bash", "--verbose"], says: "--verbose" },
};

test.each(Object.entries(bad))("%s is refused with advice", (_, { args, says }) => {
  expect(() => parseFlags(args)).toThrow(says);
});
