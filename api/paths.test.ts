import fc from "fast-check";
import { expect, test } from "vitest";
import { checkArtifactName, checkRelativePath } from "#api/paths.ts";

const goodPaths = [
  "dist.tgz",
  "a/b/c",
  ".hidden",
  "..two-dots",
  "...",
  "a..b/c..",
  "with space/and 'quotes\"",
  "größe/日本語/🙂",
  "back\\slash",
  "-rf",
  "kruntimes",
  ".kruntimes2",
  "x.kruntimes",
  "~/x",
  "C:",
  "$HOME",
  "n".repeat(255),
  `${"d".repeat(255)}/`.repeat(15) + "e".repeat(255),
];

test.each(goodPaths)("accepted: %s", (path) => {
  expect(checkRelativePath(path)).toBeUndefined();
});

const badPaths: Record<string, { path: string; message: RegExp }> = {
  nothing: { path: "", message: /path is empty/ },
  "an absolute path": { path: "/etc/passwd", message: /is absolute/ },
  "the root": { path: "/", message: /is absolute/ },
  "two slashes at the start": { path: "//x", message: /is absolute/ },
  "the parent": { path: "..", message: /segment "\.\."/ },
  "a climb at the start": { path: "../x", message: /segment "\.\."/ },
  "a climb in the middle": { path: "a/../../x", message: /segment "\.\."/ },
  "a climb at the end": { path: "a/..", message: /segment "\.\."/ },
  "the directory itself": { path: ".", message: /segment "\."/ },
  "a dot segment": { path: "a/./b", message: /segment "\."/ },
  "a leading dot segment": { path: "./a", message: /segment "\."/ },
  "an empty segment": { path: "a//b", message: /empty segment/ },
  "a slash at the end": { path: "a/", message: /empty segment/ },
  "the reserved directory": { path: ".kruntimes", message: /reserved name/ },
  "something below the reserved directory": { path: ".kruntimes/runs/x", message: /reserved name/ },
  "the reserved name further down": { path: "a/.kruntimes/b", message: /reserved name/ },
  "the reserved name in capitals": { path: ".KRUNTIMES/x", message: /reserved name/ },
  "the reserved name in mixed case": { path: ".KrunTimes", message: /reserved name/ },
  "the reserved name in wide letters": { path: ".ｋruntimes", message: /reserved name/ },
  "the reserved name with an invisible character": { path: ".krun\u200dtimes", message: /reserved name/ },
  "a NUL": { path: "a\0.txt", message: /control character U\+0000 at position 2/ },
  "a newline": { path: "a\nb", message: /U\+000A/ },
  "an escape sequence": { path: "a\u001b[31m", message: /U\+001B/ },
  "a delete character": { path: "a\u007f", message: /U\+007F/ },
  "a C1 control character": { path: "a\u009b", message: /U\+009B/ },
  "a line separator": { path: "a\u2028b", message: /U\+2028/ },
  "a lone surrogate": { path: "a\ud800", message: /not valid UTF-8/ },
  "what is left of invalid UTF-8": { path: "a\ufffd", message: /not valid UTF-8/ },
  "a name of 256 bytes": { path: `x/${"n".repeat(256)}`, message: /longer than 255 bytes/ },
  "a name of 128 two-byte letters": { path: "ö".repeat(128), message: /longer than 255 bytes/ },
  "a path of 4097 bytes": { path: `${"d/".repeat(2048)}e`, message: /longer than 4096 bytes/ },
};

test.each(Object.entries(badPaths))("refused as a path: %s", (_, { path, message }) => {
  const violation = checkRelativePath(path);
  expect(violation?.message).toMatch(message);
  expect(violation?.advice).toMatch(/^[A-Z].*\.$/);
});

test("an accepted path never leaves its directory", () => {
  const segment = fc.oneof(fc.constantFrom("..", ".", "", "a", ".kruntimes", "\0"), fc.string({ maxLength: 8 }));
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 6 }), (segments) => {
      const path = segments.join("/");
      if (checkRelativePath(path) !== undefined) return;
      const resolved = new URL(`file:///base/${path.split("/").map(encodeURIComponent).join("/")}`).pathname;
      expect(resolved.startsWith("/base/")).toBe(true);
      expect(resolved.split("/").length).toBe(segments.join("/").split("/").length + 2);
    }),
  );
});

const badNames: Record<string, { name: string; message: RegExp }> = {
  nothing: { name: "", message: /name is empty/ },
  "a slash": { name: "a/b", message: /slash or backslash/ },
  "a backslash": { name: "a\\b", message: /slash or backslash/ },
  "the directory itself": { name: ".", message: /segment "\."/ },
  "the parent": { name: "..", message: /segment "\.\."/ },
  "a NUL": { name: "a\0", message: /U\+0000/ },
  "256 bytes": { name: "n".repeat(256), message: /longer than 255/ },
  "the reserved name": { name: ".kruntimes", message: /reserved name/ },
  "invalid UTF-8": { name: "\ufffd", message: /UTF-8/ },
};

test.each(Object.entries(badNames))("refused as the name of an artifact: %s", (_, { name, message }) => {
  expect(checkArtifactName(name)?.message).toMatch(message);
});

test.each(["dist.tgz", "n".repeat(255), "größe 1.txt", ".env", "-", "a..b"])(
  "accepted as the name of an artifact: %s",
  (name) => {
    expect(checkArtifactName(name)).toBeUndefined();
  },
);
