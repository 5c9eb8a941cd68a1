import { expect, test } from "vitest";
import { CliError } from "../errors.ts";
import { stateDirectory } from "./state-directory.ts";

const cases: Record<string, [named: string | undefined, variables: Record<string, string>, want: string]> = {
  "the state directory of the home": [undefined, { HOME: "/home/ann" }, "/home/ann/.local/state/krt"],
  "the one that XDG_STATE_HOME says": [undefined, { HOME: "/home/ann", XDG_STATE_HOME: "/state" }, "/state/krt"],
  "not a relative one": [undefined, { HOME: "/home/ann", XDG_STATE_HOME: "state" }, "/home/ann/.local/state/krt"],
  "the one that is named": ["/tmp/x/", { HOME: "/home/ann" }, "/tmp/x"],
};

test.each(Object.entries(cases))("%s", (_, [named, variables, want]) => {
  expect(stateDirectory(named, variables)).toBe(want);
});

test("a path that is too long for sockets is refused with the way out", () => {
  const long = () => stateDirectory(undefined, { HOME: `/home/${"a".repeat(40)}` });
  expect(long).toThrow(CliError);
  expect(long).toThrow(expect.objectContaining({ advice: "Choose one of at most 40 bytes with --state-dir." }));
});
