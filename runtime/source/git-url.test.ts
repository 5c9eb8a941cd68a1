import { expect, test } from "vitest";
import { checkGitRef, parseGitUrl } from "#runtime/source/git-url.ts";
import { SourceFailedError } from "#runtime/source/port.ts";

test.each([
  ["https://github.com/a/b.git", { transport: "https", host: "github.com" }],
  ["https://git.example.com:8443/a", { transport: "https", host: "git.example.com:8443" }],
  ["ssh://git@example.com:2222/a/b", { transport: "ssh", host: "example.com:2222" }],
  ["git@github.com:a/b.git", { transport: "ssh", host: "github.com" }],
  ["git@example.com:/srv/a.git", { transport: "ssh", host: "example.com" }],
])("accepted: %s", (url, want) => {
  expect(parseGitUrl(url)).toEqual(want);
});

test.each([
  ["", /is not a URL/],
  ["repo", /is not a URL/],
  ["/srv/repo.git", /is not a URL/],
  ["../repo.git", /is not a URL/],
  ["http://example.com/a", /uses http:\/\//],
  ["git://example.com/a", /uses git:\/\//],
  ["ftp://example.com/a", /uses ftp:\/\//],
  ["file:///etc", /names a file of the agent/],
  ["ext::sh -c id", /spaces/],
  ["ext::id", /not allowed|not a URL/],
  ["https://user:secret@example.com/a", /contains credentials/],
  ["https://token@example.com/a", /contains credentials/],
  ["ssh://git:secret@example.com/a", /contains a password/],
  ["ssh://-oProxyCommand=id/a", /no valid host|not a URL/],
  ["git@-oProxyCommand=id:a", /not a URL/],
  ["-u@host:a", /not a URL|not allowed/],
  ["https://example.com/a\nb", /control characters/],
  ["https://example.com/a b", /spaces/],
  ["--upload-pack=id", /not a URL/],
])("refused: %s", (url, message) => {
  expect(() => parseGitUrl(url)).toThrow(message);
  expect(() => parseGitUrl(url)).toThrow(SourceFailedError);
});

test("a refusal does not repeat a secret", () => {
  const message = (url: string) => {
    try {
      parseGitUrl(url);
    } catch (error) {
      return error instanceof Error ? error.message : "";
    }
    return "";
  };
  expect(message("https://user:s3cret@example.com/a")).not.toContain("s3cret");
  expect(message("ssh://user:s3cret@example.com/a")).not.toContain("s3cret");
});

test.each([
  "main",
  "v1.2.3",
  "feature/x-1",
  "HEAD",
  "refs/heads/main",
  "0123456789abcdef0123456789abcdef01234567",
  "a@b",
  "x+y",
])("a ref may be %s", (ref) => {
  expect(() => checkGitRef(ref)).not.toThrow();
});

test.each([
  "",
  "-x",
  "--upload-pack=id",
  "a b",
  "a:b",
  "+main",
  "^main",
  "a~1",
  "a..b",
  "a@{1}",
  "a*",
  "a?",
  "a[",
  "a\\b",
  "a\nb",
  "a//b",
  "a/",
  "a.lock",
  ".a",
  "\ud800",
])("a ref may not be %j", (ref) => {
  expect(() => checkGitRef(ref)).toThrow(SourceFailedError);
});
