import { expect, test } from "vitest";
import { componentFlagNames, componentFlags, parseStrings } from "./flags.ts";

const parse = (args: readonly string[], env = {}) =>
  componentFlags("scheduler", parseStrings("scheduler", componentFlagNames, args), env);

test("what is not said has a default; the namespace is that of the Pod", () => {
  expect(parse([], { POD_NAMESPACE: "platform" })).toEqual({
    port: 8080,
    leaderElect: true,
    namespace: "platform",
    logLevel: "info",
  });
});

test("flags win over the environment", () => {
  const args = ["--port=0", "--leader-elect=false", "--namespace=mine", "--log-level=debug"];
  expect(parse(args, { POD_NAMESPACE: "platform" })).toEqual({
    port: 0,
    leaderElect: false,
    namespace: "mine",
    logLevel: "debug",
  });
});

test.each([
  ["an unknown flag", ["--prot=1"], "Unknown option '--prot'"],
  ["a word that is no flag", ["run"], "Unexpected argument 'run'"],
  ["a port with letters", ["--port=80a"], "kruntimes scheduler: --port=80a is no port"],
  ["a port that is too high", ["--port=65536"], "--port=65536 is no port; write a number from 0 (any) to 65535"],
  ["a truth value in other words", ["--leader-elect=yes"], "--leader-elect=yes is unknown; one of true, false"],
  [
    "an unknown level",
    ["--namespace=x", "--log-level=loud"],
    "--log-level=loud is unknown; one of debug, info, warn, error",
  ],
  ["no namespace", [], "--namespace (or the variable POD_NAMESPACE) is missing"],
])("%s is refused by name", (_, args, message) => {
  expect(() => parse(args)).toThrow(message);
});

test("an unknown flag is answered with those that there are", () => {
  expect(() => parse(["--prot=1"])).toThrow("flags are --port, --leader-elect, --namespace, --log-level");
});
