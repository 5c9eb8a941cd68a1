import fc from "fast-check";

/**
 * Shell scripts of many forms in which `@` stands for the word `w`. They have no meaning, but they run, and what they print tells
 * how each place was read.
 */
export const shellScripts: fc.Arbitrary<string> = fc.letrec<Record<"word" | "command" | "commands", string>>((tie) => {
  const word = tie("word");
  const commands = tie("commands");
  /** A form with holes: `W` is a word, `C` are commands. */
  const form = (text: string): fc.Arbitrary<string> => {
    const parts = text.split(/([WC])/);
    return fc
      .tuple(...parts.map((part) => (part === "W" ? word : part === "C" ? commands : fc.constant(part))))
      .map((filled) => filled.join(""));
  };
  const pieces = fc.constantFrom(
    ...[
      "a",
      "@",
      "@.tgz",
      "'@'",
      "'\"'",
      "'#@'",
      "'\\'",
      "'$('",
      "'a@\nb'",
      '"@"',
      '"a \'@"',
      '"\\""',
      '"\\\\@"',
      '"$?@"',
    ],
    ...[
      "\\'",
      '\\"',
      "\\`",
      "\\#",
      "a\\\nb",
      "a#b",
      "$?'b'",
      "$x.",
      "${x:-a}",
      '${x:-"b c"}',
      "${x:-\\}}",
      "${x:-'}'}",
      "${#x}",
    ],
    ...["$((1 + (2 * 3)))", "{a,b}", "=", "%", "$-", "`echo '\"'`", "`echo \\`echo b\\``", "\"`echo 'a'` )@\"", "a[b]"],
  );
  const documents = fc.constantFrom(
    "cat <<E\n'@' \" \\$ \\\\ `echo 'a'` $((2)) @\nE\n",
    "cat <<'E'\n' \" $( `\nE\n",
    "cat <<\\E\n' \" $( `\nE\n",
    'cat <<-"E" | cat\n\ta\'\n\tE\n',
    "cat <<E - <<'F' </dev/null\n@'\nE\n'\nF\n",
    "cat <<E\n@ \\\nE\nE\n",
  );
  const compound = [
    "if [ W != x ]\nthen C\nelse :; fi",
    "case W in (W|b) C;; @) printf M;; *) C\nesac",
    "case x in y) ;; x) case @ in w) C\nesac;; esac",
    "( C\n)",
    "{ C\n}",
    "for i in @ W; do printf '<%s>' $i; C\ndone",
    "C\nprintf '<%s>' \"$( C\n)\"",
    "while printf w; do C\nbreak; done",
    'printf "<%s>" "$(case y in (x) ;; y) C\nesac)"',
  ];
  const simple = [
    "printf '<%s>' W W",
    "v=W; printf '[%s]' \"$v\"",
    "echo W # it's \" @ $(\n",
    "v=W printf '<%s>' @",
    "printf '<%s>' @ 2>&1 >/dev/null",
    "! printf a\\\n@",
    "export v=W",
    "[ @ = W ] || printf no",
  ];
  return {
    word: fc.oneof(
      { maxDepth: 2, depthIdentifier: "word" },
      pieces,
      fc.tuple(pieces, pieces).map((pair) => pair.join("")),
      form('"$( C\n)"'),
    ),
    command: fc.oneof(
      { maxDepth: 2, depthIdentifier: "command" },
      fc.oneof(documents, ...simple.map(form)),
      ...compound.map(form),
    ),
    commands: fc
      .tuple(tie("command"), fc.constantFrom("\n", "\n\n"), fc.option(tie("command"), { nil: "" }))
      .map((parts) => parts.join("")),
  };
}).commands;
