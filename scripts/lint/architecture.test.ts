import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { adapters, check, touchesWorld } from "./architecture.ts";

const cases: Record<string, { file: string; text: string; want: string[] }> = {
  "an arrow that points back is refused": {
    file: "machines/run.ts",
    text: 'import { x } from "#kube/drive.ts";',
    want: ["machines must not import kube (#kube/drive.ts)"],
  },
  "siblings do not import each other": {
    file: "controllers/a/b.ts",
    text: 'import type { x } from "#runtime/agent/x.ts";',
    want: ["controllers must not import runtime (#runtime/agent/x.ts)"],
  },
  "a relative import is followed": {
    file: "api/kinds/run.ts",
    text: 'import { x } from "../../kube/x.ts";',
    want: ["api must not import kube (../../kube/x.ts)"],
  },
  "a pure layer takes no package": {
    file: "machines/run.ts",
    text: 'import x from "yaml";',
    want: ["machines must not import the package yaml"],
  },
  "the clock is a port": {
    file: "controllers/a.ts",
    text: "const now = Date.now();\nconst later = new Date();",
    want: ["Date.now touches the world; use Clock.now()", "new Date() touches the world; use Clock.now()"],
  },
  "a timer is a port, a method of that name is none": {
    file: "controllers/a.ts",
    text: "setTimeout(f, 1);\nserver.setTimeout(5);",
    want: ["setTimeout( touches the world; use Clock.after()"],
  },
  "a client of the network is an adapter's": {
    file: "controllers/a.ts",
    text: 'import { Agent } from "undici";',
    want: ["undici belongs into an adapter; take a port instead (scripts/lint/architecture.ts lists the adapters)"],
  },
  "comments and tests are free": { file: "controllers/a.ts", text: "// Date.now()\n/* Math.random */", want: [] },
  "a test may import anything": { file: "api/a.test.ts", text: 'import "#local/x.ts"; Date.now()', want: [] },
  "the right arrow passes": { file: "kube/drive.ts", text: 'import { settle } from "#machines/settle.ts";', want: [] },
};

test.each(Object.entries(cases))("%s", (_, { file, text, want }) => {
  expect(check(file, text).map((finding) => finding.message)).toEqual(want);
});

test("the whole project keeps the rules", () => {
  const files = execFileSync("git", ["ls-files", "*.ts"], { encoding: "utf8" }).split("\n").filter(existsSync);
  expect(files.flatMap((file) => check(file, readFileSync(file, "utf8")))).toEqual([]);
});

test("every adapter in the list exists", () => {
  expect(adapters.filter((path) => !existsSync(path))).toEqual([]);
});

test("every adapter in the list touches the world: what does not is held to the rules", () => {
  const filesOf = (path: string) =>
    execFileSync("git", ["ls-files", "--cached", "--others", path], { encoding: "utf8" })
      .split("\n")
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && existsSync(file));
  const idle = adapters.filter((path) => !filesOf(path).some((file) => touchesWorld(readFileSync(file, "utf8"))));
  expect(idle).toEqual([]);
});
