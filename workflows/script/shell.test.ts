import fc from "fast-check";
import { expect, test } from "vitest";
import { expectPrinted, hostileValues, refusals, runSource } from "../testing/programs.ts";

const same = (value: string) => value;
const withoutLastNewlines = (value: string) => value.replace(/\n+$/, "");

type Case = { readonly script: string; readonly want: (value: string) => string };

/** Places that bash and every POSIX shell read alike. */
const anyShell: Record<string, Case> = {
  "an unquoted value is exactly one word": { script: `printf '<%s>' @ end`, want: (v) => `<${v}><end>` },
  "a value joins the text around it": { script: `printf '%s' --name=@.tgz`, want: (v) => `--name=${v}.tgz` },
  "two values stand side by side": { script: `printf '<%s>' @.€`, want: (v) => `<${v}.second value>` },
  "in double quotes": { script: `printf '%s' "a '@' \\$ \\"b\\""`, want: (v) => `a '${v}' $ "b"` },
  "in single quotes": { script: `printf '%s' 'a "@" \\ b'`, want: (v) => `a "${v}" \\ b` },
  "in single quotes behind a backslash": { script: `printf '%s' '\\@'`, want: (v) => `\\${v}` },
  "in an assignment": { script: `x=@; y="$x"; printf '%s' "$y"`, want: same },
  "in an assignment before a command": { script: `x=@ env | grep -c '^x=' | tr -d '\\n'`, want: () => "1" },
  "in an exported variable": { script: `export x=@; printf '%s' "$x"`, want: same },
  "in a command substitution": { script: `printf '%s' "$(printf '%s' @)"`, want: withoutLastNewlines },
  "in quotes inside a substitution inside quotes": {
    script: `printf '%s' "a$(printf '%s' "b@" 'c@' | cat)d"`,
    want: (v) => `ab${v}c${v}d`,
  },
  "in a substitution behind a case in it": {
    script: `printf '%s' "$(case x in (y) echo no;; x) printf '%s' "@";; *) echo ')';; esac)" '@'`,
    want: (v) => `${withoutLastNewlines(v)}${v}`,
  },
  "in a here-document": {
    script: `cat <<EOF\na "@" 'b' \\$ \\\\\nEOF\nprintf end`,
    want: (v) => `a "${v}" 'b' $ \\\nend`,
  },
  "in a here-document with tabs": { script: `cat <<-EOF\n\t\t@\n\tEOF\nprintf end`, want: (v) => `${v}\nend` },
  "behind a here-document that nothing is filled into": {
    script: `cat <<'EOF'\n$x "it's\nEOF\nprintf '%s' @`,
    want: (v) => `$x "it's\n${v}`,
  },
  "behind two here-documents of one line": {
    script: `cat <<A - <<'B'\n'\nA\n"\nB\nprintf '%s' '@'`,
    want: (v) => `"\n${v}`,
  },
  "behind a here-document whose last line but one is continued": {
    script: `cat <<EOF\na \\\nEOF\nb\nEOF\nprintf '%s' "@"`,
    want: (v) => `a EOF\nb\n${v}`,
  },
  "in a here-document of a substitution": {
    script: `printf '%s' "$(cat <<EOF\n@\nEOF\n)."`,
    want: (v) => `${withoutLastNewlines(v)}.`,
  },
  "behind a comment with a quote": { script: `true # it's\nprintf '%s' @ # don't @\n`, want: same },
  "behind a # that is no comment": { script: `x=a#b; printf '%s' "\${x#a}" $# '@'`, want: (v) => `#b0${v}` },
  "behind calculations": { script: `x=$((1 + (2 << 3))); printf '%s' $x '@'`, want: (v) => `17${v}` },
  "behind backticks": { script: "printf '%s' `echo \"it's\" \\`echo x\\`` '@'", want: (v) => `it'sx${v}` },
  "behind quotes inside braces": {
    script: `printf '%s' "\${x:-"it's"}" \${y:-'}'} "\${z#'}'}" '@'`,
    want: (v) => `it's}${v}`,
  },
  "in a loop": { script: `for x in @ b; do printf '<%s>' "$x"; done`, want: (v) => `<${v}><b>` },
  "as the word and the pattern of a case": {
    script: `case @ in @) printf yes;; *) printf no;; esac; printf '%s' '@'`,
    want: (v) => `yes${v}`,
  },
  "in a condition": { script: `if [ @ = '@' ]; then printf yes; else printf no; fi`, want: () => "yes" },
  "in a function": { script: `f() { printf '<%s>' "$1" '@'; }\nf @`, want: (v) => `<${v}><${v}>` },
  "in a subshell and a group": { script: `(printf '%s' @); { printf '%s' '@'; }`, want: (v) => v + v },
  "as an argument of a program text": {
    script: `sh -c 'printf "%s" "$1"' sh @`,
    want: same,
  },
  "on a line that is continued": { script: `printf '<%s>' \\\n  @ \\\n  end`, want: (v) => `<${v}><end>` },
  "in the data of a script": {
    script: `sh -c 'printf "%s" "$(cat)$1"' sh @ <<EOF\n@\nEOF`,
    want: (v) => withoutLastNewlines(v) + v,
  },
  "as the name of a command to look for": { script: `command -v -- @ || printf '%s' '@'`, want: same },
  "with a redirection behind it": {
    script: `printf '%s' @ 2>/dev/null >&2 2>&1 | cat; printf '%s' '@' 2>&1`,
    want: same,
  },
};

/** Places that a POSIX shell reads in its own way. */
const onlySh: Record<string, Case> = {
  "behind a single quote inside braces in double quotes": {
    script: `printf '%s' "\${x:-it's}" '@'`,
    want: (v) => `it's${v}`,
  },
};

/** Places that only bash knows. */
const onlyBash: Record<string, Case> = {
  "in $'...'": { script: `printf '%s' $'it\\'s @ \\t'`, want: (v) => `it's ${v} \t` },
  'in $"..."': { script: `printf '%s' $"a @"`, want: (v) => `a ${v}` },
  "in an array": {
    script: `x=(@ "b @" # it's\n c)\nprintf '<%s>' "\${x[@]}" "\${#x[*]}"`.replace("[@]", "[*]"),
    want: (v) => `<${v} b ${v} c><3>`,
  },
  "in a test": { script: `if [[ -n x && ( @ == '@' || 1 < 2 ) ]]; then printf '%s' "@"; fi`, want: same },
  "behind a test with a regular expression": { script: `[[ ab =~ ^(a|b)+$ ]] && printf '%s' '@'`, want: same },
  "in a here-string": {
    script: `read -r -d '' x <<< @ || true; [ "$x" ] || x=; cat <<< "@" | wc -l | tr -d '\\n '`,
    want: (v) => String(v.split("\n").length),
  },
  "in a process substitution": { script: `cat <(printf '%s' @) - </dev/null`, want: same },
  "behind a calculation with (( ))": {
    script: `(( x = 1 << 2 )); for ((i = 0; i < 1; i++)); do printf '%s' $x '@'; done`,
    want: (v) => `4${v}`,
  },
  "behind an extended pattern": {
    script: `shopt -s extglob\ncase ab in @(a|b)*) printf '%s' "@";; esac`.replace("@(a", "+(a"),
    want: same,
  },
  "in a declaration": { script: `f() { local -r x=@ y='@'; printf '%s' "$x$y"; }; f`, want: (v) => v + v },
};

test.each(Object.entries(anyShell))("bash: %s", (_, { script, want }) => expectPrinted("bash", script, want));
test.each(Object.entries(anyShell))("sh: %s", (_, { script, want }) => expectPrinted("sh", script, want));
test.each(Object.entries(onlySh))("sh: %s", (_, { script, want }) => expectPrinted("sh", script, want));
test.each(Object.entries(onlyBash))("bash: %s", (_, { script, want }) => expectPrinted("bash", script, want));

test("what these values do when they are pasted instead", () => {
  const harmful = hostileValues.filter((value) =>
    [`echo ${value}`, `printf '%s' "${value}"`, `printf '%s' '${value}'`].some(
      (source) => runSource("bash", source, [""]).files.length > 0,
    ),
  );
  expect(harmful).toEqual([...hostileValues.slice(2, 6), hostileValues[8]]);
});

const calculated = /calculat/;
const asName = /as the name of a variable/;
const asCode = /would run the value as code/;

/** Places at which a value would become code, or at which it could not be filled in. */
const refused: Record<string, { script: string; want: RegExp }> = {
  "as the command": { script: "@ --version", want: /a value cannot be the command/ },
  "as the command, quoted": { script: 'if "@"; then true; fi', want: /a value cannot be the command/ },
  "as the command behind a prefix": { script: "exec @", want: /a value cannot be the command/ },
  "as the command behind an assignment": { script: "x=1 @", want: /a value cannot be the command/ },
  "in eval": { script: `eval "echo @"`, want: asCode },
  "in eval behind a prefix": { script: `command eval 'echo @'`, want: asCode },
  "in let": { script: "let x=@", want: asCode },
  "in trap": { script: `trap 'rm @' EXIT`, want: asCode },
  "in the text of another shell": { script: `bash -ec "echo @"`, want: asCode },
  "in the text of another shell behind other commands": { script: `sudo -u x env A=b sh -x -c 'echo @'`, want: asCode },
  "in the text of Python": { script: `python3 -c "print('@')"`, want: asCode },
  "in the text of Node": { script: `/usr/bin/node --eval 'console.log("@")'`, want: asCode },
  "in the text of su": { script: `su user -c "echo @"`, want: asCode },
  "in the command of another machine": { script: `ssh -p 22 -l u host "rm @"`, want: asCode },
  "in the input of another shell": { script: "sudo bash -x <<EOF\necho '@'\nEOF", want: asCode },
  "in the input of a shell that takes arguments": { script: "bash -s arg <<EOF\necho '@'\nEOF", want: asCode },
  "in the input of Python": { script: `python3 - <<EOF\nprint("@")\nEOF`, want: asCode },
  "in the input of a shell as one line": { script: `sh <<< "echo @"`, want: asCode },
  "in the input of source": { script: `source /dev/stdin <<< "x=@"`, want: asCode },
  "in the input of another machine": { script: "ssh host <<EOF\nrm @\nEOF", want: asCode },
  "in the text of Perl": { script: `perl -pe 's/x/@/'`, want: asCode },
  "as a name of a variable to declare": { script: "declare @=x", want: asName },
  "as a name of a variable to export": { script: `export "@"`, want: asName },
  "in a variable that stands for another": { script: "declare -n x=@", want: calculated },
  "in a variable that is a number": { script: "declare -ir x=@", want: calculated },
  "as a name of a variable to read": { script: "read -r @", want: asName },
  "as a name of a variable to remove": { script: "unset @", want: asName },
  "as a name of a variable to print into": { script: "printf -v @ %s x", want: asName },
  "as a name of a variable to test": { script: "[ -v @ ]", want: asName },
  "as a name of a variable to test in bash": { script: "[[ -v @ ]]", want: asName },
  "in a calculation": { script: "echo $((1 + @))", want: calculated },
  "in a calculation in double quotes": { script: `echo "$((1 + "@"))"`, want: calculated },
  "in a calculation as a command": { script: "(( x = @ ))", want: calculated },
  "in a calculation of a loop": { script: "for ((i = 0; i < @; i++)); do :; done", want: calculated },
  "in an old calculation": { script: "echo $[1 + @]", want: calculated },
  "in a test that calculates": { script: `if [[ 3 -lt "@" ]]; then :; fi`, want: calculated },
  "in an index of an array": { script: "x[@]=1", want: calculated },
  "in an index of a declared array": { script: `declare "x[@]=1"`, want: calculated },
  "in an index of a list": { script: "x=([@]=1)", want: calculated },
  "inside the braces of a variable": { script: `echo "\${x:-@}"`, want: /inside the braces of a shell variable/ },
  "in an index inside braces": {
    script: "echo ${x[@]}".replace("@", "1@"),
    want: /inside the braces of a shell variable/,
  },
  "in backticks": { script: "echo `echo @`", want: /inside backticks/ },
  "in a here-document with a quoted delimiter": { script: "cat <<'EOF'\n@\nEOF\n", want: /whose delimiter is quoted/ },
  "in a here-document with a backslash before the delimiter": {
    script: "cat <<\\EOF\n@\nEOF\n",
    want: /whose delimiter is quoted/,
  },
  "as the delimiter of a here-document": { script: "cat <<@\n@\n", want: /the delimiter of a here-document/ },
  "behind a backslash": { script: "echo \\@", want: /a backslash stands directly before/ },
  "behind a backslash in double quotes": { script: 'echo "\\@"', want: /a backslash stands directly before/ },
  "behind a dollar sign": { script: 'echo "$@"', want: /a dollar sign stands directly before/ },
  "behind a dollar sign in a here-document": {
    script: "cat <<EOF\n$@\nEOF\n",
    want: /a dollar sign stands directly before/,
  },
};

test.each(Object.entries(refused))("refused: %s", (_, { script, want }) => {
  expect(refusals("bash", script)).toEqual([expect.stringMatching(want)]);
});

/** Scripts that nobody can follow for certain: refused because of their text, not because of the place of the expression. */
const notFollowed: Record<string, { script: string; want: RegExp }> = {
  "a single quote is not closed": { script: "echo @ 'x", want: /^1:31: this single quote is not closed/ },
  "a double quote is not closed": { script: 'echo @\necho "x', want: /^2:6: this double quote is not closed/ },
  "a backtick is not closed": { script: "echo @ `x", want: /this backtick is not closed/ },
  "a brace is not closed": { script: "echo @ ${x", want: /this brace is not closed/ },
  "a parenthesis is not closed": { script: "echo @ $(x", want: /this parenthesis is not closed/ },
  "a parenthesis closes nothing": { script: "echo @ )", want: /this parenthesis closes nothing/ },
  "a test is not closed": { script: "[[ @ = x", want: /this \[\[ is not closed/ },
  "a calculation is not closed": { script: "echo @ $((1", want: /this calculation is not closed/ },
  "a here-document has no end": { script: "cat <<EOF\n@\n", want: /^1:5: the here-document has no line EOF/ },
  "calculation or commands": { script: "echo @ $((echo x); echo y)", want: /can be a calculation or commands/ },
  "a here-document around a substitution": {
    script: "cat <<EOF $(\ntrue)\nEOF\necho @",
    want: /in the middle of another command/,
  },
};

test.each(Object.entries(notFollowed))("refused: %s", (_, { script, want }) => {
  expect(refusals("bash", script)).toEqual([expect.stringMatching(want)]);
});

test("quotes that shells understand differently are refused for sh", () => {
  expect(refusals("sh", "echo $'it\\'s' @")).toEqual([expect.stringMatching(/different things in different shells/)]);
});

test("every expression that cannot stand at its place is reported", () => {
  expect(refusals("bash", "eval @\necho @\nlet @")).toEqual([
    expect.stringMatching(/^1:6: eval/),
    expect.stringMatching(/^3:5: let/),
  ]);
});

/** Words whose printed text is known, nested as deep as the generator goes. */
const word: fc.Memo<{ script: string; text: string }> = fc.memo((depth) => {
  const plain = fc.constantFrom(
    { script: "x", text: "x" },
    { script: "@", text: "V" },
    { script: "'it\"s @ #'", text: `it"s V #` },
    { script: `"it's @"`, text: "it's V" },
    { script: "\\'", text: "'" },
    { script: `"\\"\\\\"`, text: `"\\` },
    { script: "$'\\'@'", text: "'V" },
    { script: `\${u:-"it's )"}`, text: "it's )" },
    { script: "$((1 + (2)))", text: "3" },
  );
  if (depth <= 1) return plain;
  const joined = fc.array(word(depth - 1), { minLength: 1, maxLength: 4 }).map((words) => ({
    script: words.map(({ script }) => script).join(""),
    text: words.map(({ text }) => text).join(""),
  }));
  return fc.oneof(
    joined,
    joined.map(({ script, text }) => ({ script: `"$( (printf '%s' ${script}) )"`, text })),
    joined.map(({ script, text }) => ({ script: `"$(printf '%s' ${script} # don't )\n)"`, text })),
    joined.map(({ script, text }) => ({ script: `"$(case y in (x) ;; y) printf '%s' ${script};; esac)"`, text })),
    joined.map(({ script, text }) => ({
      script: `"$(cat <<E${depth}\n@ '$(printf '%s' ${script})\nE${depth}\n)"`,
      text: `V '${text}`,
    })),
  );
});

test("whatever is nested in whatever, each value arrives as it is", () => {
  const value = "a\"'\\$(touch pwned)`touch pwned`*é";
  fc.assert(
    fc.property(fc.array(word(4), { minLength: 4, maxLength: 6 }), (words) => {
      const script = words.map((each) => `printf '<%s>\\n' "${"$"}(printf '%s' ${each.script})" # it's\n`).join("");
      const want = words.map((each) => `<${each.text.replaceAll("V", () => value)}>\n`).join("");
      expectPrinted("bash", script, () => want, [value]);
    }),
    { numRuns: 20, seed: 7, endOnFailure: true },
  );
});

test("a script of the largest size is read in time", () => {
  const script = `${'x=1 # it\'s\necho \'@\' "$(echo "@")"\n'.repeat(30)}${"echo a b c 'd' \"e $f\" $(g)\n".repeat(8000)}`;
  expect(script.length).toBeGreaterThan(200_000);
  expect(refusals("bash", script)).toEqual([]);
});

test("deep nesting is refused, not a crash", () => {
  expect(refusals("bash", `echo ${"$(".repeat(50_000)} @`)).toEqual([
    expect.stringMatching(/nested too deeply|not closed/),
  ]);
});
