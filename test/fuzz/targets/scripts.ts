import assert from "node:assert/strict";
import fc from "fast-check";
import { compileTemplate } from "#workflows/expressions/compile.ts";
import { compileScript } from "#workflows/script/compile-script.ts";
import { scope } from "#workflows/testing/templates.ts";
import { mutatedText } from "../mutate.ts";
import { defineTarget } from "../target.ts";

const value = "${{ steps.a.outputs.v }}";
const examples = [
  `echo "a ${value}" 'b' | tr a b > ${value}\n`,
  `cat <<EOF\n${value} $(date "+%s ${value}")\nEOF\ncase $x in a) echo ${value};; esac\n`,
  `cat <<'X'\nplain ${value}\nX\nfor f in *; do echo "$f" \`id ${value}\`; done # ${value}`,
  `x=$((1 + ${value})); y=\${x:-"${value}"}; [[ $y =~ ${value} ]] && f() { echo ${value}; }`,
  `import os\nprint(f"{os.name} ${value}", '''doc ${value}''', r"\\ ${value}")  # ${value}\n`,
  `const a = \`x \${b} ${value}\`; // ${value}\nconst r = /a[/]${value}/g; 'q' + "${value}"`,
];
const tokens = [
  ..."'\"`$(){}[]<>|&;#\\\n =",
  value,
  "<<EOF\n",
  "EOF\n",
  "<<-'X'\n",
  "$(",
  "${",
  "$((",
  "))",
  "f'''",
  "/*",
  "*/",
  "#!/bin/sh\n",
  "case x in ",
  "esac",
];
const languages = ["bash", "sh", "python", "node", "other"] as const;

export const scripts = (compile: typeof compileScript = compileScript) =>
  defineTarget({
    name: "scripts",
    holds:
      "any script with values in it is refused at a place inside it, or becomes one whose text keeps everything around the values and none of them",
    outcomes: ["a script", "refused"],
    inputs: fc.record({ text: mutatedText(examples, tokens), language: fc.constantFrom(...languages) }),
    check({ text, language }) {
      const { template, errors } = compileTemplate(text, scope, "run");
      if (errors.length > 0) return "refused";
      const result = compile(template, language, "run");
      if (!result.ok) {
        const lines = text.split("\n").length;
        for (const { message } of result.errors) {
          const [, line] = /^(\d+):\d+: \S/.exec(message) ?? [];
          assert(line === undefined ? /^the script has/.test(message) : Number(line) <= lines, message);
        }
        return "refused";
      }
      const { variables } = result.script;
      // What makes a shell stop at the first command that fails.
      const source = result.script.source.replace("set -e; ", "");
      assert(!source.includes("${{"), "no expression is left");
      assert.equal(variables.length, new Set(template.expressions.map((each) => each.source.trim())).size);
      let from = 0;
      let end = 0;
      for (const part of [...template.expressions, { start: text.length, end: text.length }]) {
        const literal = text.slice(end, part.start);
        const at = source.indexOf(literal, from);
        assert(at >= 0, `what stands around values is kept: ${JSON.stringify(literal)}`);
        from = at + literal.length;
        end = part.end;
      }
      return "a script";
    },
  });
