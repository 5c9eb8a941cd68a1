import { expect, test } from "vitest";
import { containerEnvironment, keptPrefix } from "#runtime/injector/kept-variables.ts";

test("what the launcher has set aside is there again under its own name, everything else stays", () => {
  expect(
    containerEnvironment({
      [`${keptPrefix}LD_PRELOAD`]: "/usr/lib/libjemalloc.so",
      [`${keptPrefix}NODE_OPTIONS`]: "",
      "spring.profiles.active": "test",
      PATH: "/bin",
    }),
  ).toEqual({
    LD_PRELOAD: "/usr/lib/libjemalloc.so",
    NODE_OPTIONS: "",
    "spring.profiles.active": "test",
    PATH: "/bin",
  });
});
