/**
 * Regular expressions of schemas and rules are RE2 on the real server. What RE2 does not have must not work here
 * either; what is written differently is translated.
 */

/** Lookaround and backreferences, with the parts that may not be mistaken for them (escapes, classes). */
const unsupported = /\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|(\(\?(?:=|!|<=|<!))/g;

/** @throws Error with a message that names the problem. */
export function compileRegex(pattern: string): RegExp {
  for (const match of pattern.matchAll(unsupported)) {
    if (match[1] !== undefined) {
      throw new Error(`error parsing regexp: invalid or unsupported Perl syntax: \`${match[1]}\``);
    }
    if (/^\\[1-9]$/.test(match[0])) throw new Error(`error parsing regexp: invalid escape sequence: \`${match[0]}\``);
  }
  const flags = /^\(\?([ims]+)\)/.exec(pattern);
  const body = (flags === null ? pattern : pattern.slice(flags[0].length))
    .replaceAll("\\A", "^")
    .replaceAll("\\z", "$")
    .replaceAll("(?P<", "(?<");
  try {
    return compile(body, flags?.[1] ?? "");
  } catch (error) {
    throw new Error(`error parsing regexp: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** With `u` where possible, so that a dot is a character; without it for escapes that only RE2 allows, such as `\_`. */
function compile(body: string, flags: string): RegExp {
  try {
    return new RegExp(body, `${flags}u`);
  } catch {
    return new RegExp(body, flags);
  }
}
