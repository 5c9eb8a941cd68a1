import { expect, test } from "vitest";
import type { RuntimeSpec } from "#api/kinds/runtime.ts";
import { type Language, languageOf, runtimeLanguage, shebangLanguage } from "./language.ts";

const lines: Record<string, Language | undefined> = {
  "echo x": undefined,
  " #!/bin/bash": undefined,
  "#!/bin/bash": "bash",
  "#! /usr/local/bin/bash -eu\necho": "bash",
  "#!/bin/sh": "sh",
  "#!/usr/bin/dash": "sh",
  "#!/usr/bin/env python3": "python",
  "#!/usr/bin/env -S A=b python3.13 -u": "python",
  "#!/usr/bin/python3.13\r\nx": "python",
  "#!/usr/bin/env node": "node",
  "#!/usr/bin/perl": "other",
  "#!/usr/bin/env": "other",
  "#!": "other",
};

test.each(Object.entries(lines))("%j is read by %s", (text, want) => {
  expect(shebangLanguage(text)).toBe(want);
});

const runtimes: Record<string, { server: RuntimeSpec["server"]; want: Language }> = {
  "a Runtime that says nothing is bash": { server: undefined, want: "bash" },
  "the interpreter is what it says": { server: { interpreter: "node" }, want: "node" },
  "a command is not known": { server: { type: "Injected", command: ["deno", "run"] }, want: "other" },
  "a server of the user's own is not known": { server: { type: "Custom" }, want: "other" },
  "a server of the user's own that names its interpreter is known": {
    server: { type: "Custom", interpreter: "python" },
    want: "python",
  },
};

test.each(Object.entries(runtimes))("%s", (_, { server, want }) => {
  expect(runtimeLanguage(server === undefined ? {} : { server })).toBe(want);
});

test("a #! line wins over the Runtime, and without both nothing is known", () => {
  expect(languageOf("#!/bin/sh", "python")).toBe("sh");
  expect(languageOf("x", "python")).toBe("python");
  expect(languageOf("x", undefined)).toBeUndefined();
});
