import fc from "fast-check";
import { expect, test } from "vitest";
import { runSource } from "../testing/programs.ts";
import { shellScripts } from "../testing/shell-scripts.ts";
import { templateOf } from "../testing/templates.ts";
import { compileScript } from "./compile-script.ts";

/**
 * A word without special characters means the same pasted or handed over, wherever it stands. So for this value, and only for
 * such, the shell itself is the judge of whether each place was read as the shell reads it.
 */
test.each(["bash", "sh"] as const)("%s reads every place as we do", (shell) => {
  let compared = 0;
  fc.assert(
    fc.property(fc.array(shellScripts, { minLength: 1, maxLength: 2 }), (scripts) => {
      const script = scripts.map((each) => `${each}\nprintf ' %s\\n' @ '@'\n`).join("");
      const result = compileScript(templateOf(script), shell, "run");
      if (!result.ok) throw new Error(`${result.errors[0]?.message}\n${result.errors[0]?.advice}\n${script}`);
      const { printed } = runSource(shell, `set -e; ${script.replaceAll("@", "w")}`, ["w"]);
      expect(runSource(shell, result.script.source, ["w"]).printed).toEqual(printed);
      compared += printed.join("").length > 0 ? 1 : 0;
    }),
    { numRuns: 30, seed: 11, endOnFailure: true },
  );
  expect(compared).toBe(30);
});
