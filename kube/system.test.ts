import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("the logger writes JSON lines to stderr, with errors and their causes, and keeps to its level", async () => {
  const program = `
    import { createLogger } from "#kube/system.ts";
    const logger = createLogger("scheduler", "info");
    logger.debug("not shown");
    logger.info("bound", { run: "ns/a" });
    logger.error("failed", { error: new TypeError("outer", { cause: new Error("inner") }) });
    createLogger("quiet", "silent").error("not shown");
  `;
  const args = ["--input-type=module-typescript", "--eval", program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
  expect(stdout).toBe("");
  const lines = stderr
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toEqual([
    {
      level: "info",
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      component: "scheduler",
      run: "ns/a",
      message: "bound",
    },
    expect.objectContaining({
      level: "error",
      message: "failed",
      error: expect.objectContaining({
        type: "TypeError",
        message: expect.stringContaining("outer"),
        cause: expect.objectContaining({ message: "inner" }),
      }),
    }),
  ]);
});
