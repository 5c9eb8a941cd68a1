import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import { childRun } from "../child-run.ts";
import { compileWorkflow } from "../compile-workflow.ts";
import { evaluateTemplate } from "../expressions/evaluate.ts";
import { type Shell, stepsOf } from "../plan.ts";
import { hostileText } from "../testing/programs.ts";

const owner = { metadata: { name: "w", namespace: "n", uid: "u" }, spec: {} };

/** The child Run of a step with that shell, on a Runtime whose own programs nobody knows. */
function runOf(shell: Shell, run: string, value: string): Run {
  const steps = [
    { name: "a", run: "true" },
    { name: "s", shell, run, env: { OWN: `<\${{ steps.a.outputs.v }}>` } },
  ];
  const compiled = compileWorkflow({ jobs: { j: { "runs-on": "r", steps } } });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors));
  const job = compiled.plan.jobs.get("j");
  const step = job && stepsOf(job)[1];
  if (step === undefined) throw new Error("no step");
  const values = { steps: { a: { outputs: { v: value } } } };
  const own = [...step.env].map(([name, template]) => {
    const result = evaluateTemplate(template, values);
    return [name, result.ok ? result.value : ""] as const;
  });
  const env = Object.fromEntries(own);
  const place = { job: "j", runtime: "r", jobAttempt: 1, workspace: "ws", language: "other" as const };
  const child = childRun({ owner, step, values: { ...values, env }, env, ...place });
  if (!child.ok) throw new Error(child.message);
  return child.run;
}

/** Starts the script as the executor does: it is executable, and its first line names its program. */
function execute({ spec }: Run) {
  const directory = mkdtempSync(join(tmpdir(), "krt-shell-"));
  const script = `${directory}.script`;
  try {
    writeFileSync(script, spec.source?.inline ?? "");
    chmodSync(script, 0o755);
    const variables = (spec.env ?? []).map(({ name, value = "" }) => [name, value]);
    const { stdout, stderr, status } = spawnSync(script, {
      cwd: directory,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env.PATH, LC_ALL: "C.UTF-8", ...Object.fromEntries(variables) },
    });
    return { stdout, stderr, status, files: readdirSync(directory) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
    rmSync(script, { force: true });
  }
}

/** Prints the value, and the variable of the step, in every way that the language has for it. */
const scripts: Record<Shell, string> = {
  bash: `printf '%s|' \${{ steps.a.outputs.v }} "\${{ steps.a.outputs.v }}" '\${{ steps.a.outputs.v }}' "$OWN" "\${{ env.OWN }}"`,
  sh: `printf '%s|' \${{ steps.a.outputs.v }} "\${{ steps.a.outputs.v }}" '\${{ steps.a.outputs.v }}' "$OWN" "\${{ env.OWN }}"`,
  python: `import os, sys
for text in [\${{ steps.a.outputs.v }}] * 3 + [os.environ["OWN"], \${{ env.OWN }}]:
    sys.stdout.write(text + "|")`,
  node: `const v = \${{ steps.a.outputs.v }};
for (const text of [v, \`\${{ steps.a.outputs.v }}\`, v, process.env.OWN, \${{ env.OWN }}]) process.stdout.write(text + "|");`,
};

test.each(Object.entries(scripts) as [Shell, string][])(
  "quotes, $(), backticks and lines in a value stay a value for shell: %s",
  (shell, script) => {
    for (const value of hostileText) {
      const own = `<${value}>`;
      const want = [value, value, value, own, own].map((text) => `${text}|`).join("");
      expect(execute(runOf(shell, script, value))).toEqual({ stdout: want, stderr: "", status: 0, files: [] });
    }
  },
);

test("bash and sh end at the first command that fails", () => {
  for (const shell of ["bash", "sh"] as const) {
    expect(execute(runOf(shell, "echo one\nfalse\necho two", "x"))).toMatchObject({ stdout: "one\n", status: 1 });
  }
});
