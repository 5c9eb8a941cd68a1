import { SourceFailedError } from "#runtime/source/port.ts";

export interface GitUrl {
  readonly transport: "https" | "ssh" | "file";
  /** Host and port as the URL has them; empty for files. */
  readonly host: string;
}

const advice = "use https://host/path, ssh://user@host/path or user@host:path";
/** `user@host:path`, as git itself reads it. The host cannot start with a dash: ssh would take it for an option. */
const scpForm = /^[A-Za-z0-9_][A-Za-z0-9._-]*@([A-Za-z0-9][A-Za-z0-9.-]*):([^/].*|\/[^/].*)$/;

/**
 * Checks the URL of a repository.
 *
 * @param allowFiles also accept `file://`; only for tests, since it would read the agent's own file system.
 * @throws SourceFailedError with what to write instead.
 */
export function parseGitUrl(url: string, allowFiles = false): GitUrl {
  if (!url.isWellFormed() || /[\p{Cc}\s]/u.test(url)) throw refuse(url, "contains spaces or control characters");
  const scp = scpForm.exec(url);
  if (scp !== null) return { transport: "ssh", host: scp[1] ?? "" };
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) throw refuse(url, "is not a URL");
  switch (parsed.protocol) {
    case "https:":
      if (parsed.username !== "" || parsed.password !== "") {
        // Not repeated in the message, which many may read.
        throw new SourceFailedError(
          "repoURL contains credentials; put them into a Secret and name it in source.credentialsSecretName",
        );
      }
      return { transport: "https", host: parsed.host };
    case "ssh:":
      if (parsed.password !== "") {
        throw new SourceFailedError(
          "repoURL contains a password; use a key in a Secret, named in source.credentialsSecretName",
        );
      }
      if (!/^[A-Za-z0-9[]/.test(parsed.host) || parsed.username.startsWith("-")) throw refuse(url, "has no valid host");
      return { transport: "ssh", host: parsed.host };
    case "file:":
      if (allowFiles) return { transport: "file", host: "" };
      throw refuse(url, "names a file of the agent");
    default:
      throw refuse(url, `uses ${parsed.protocol}//, which is not allowed`);
  }
}

/** Checks a branch, tag or commit id: nothing that git would read as an option, a range or a pattern. */
export function checkGitRef(ref: string): void {
  const plain = /^[A-Za-z0-9_](?:[A-Za-z0-9._/+@#%=-]*[A-Za-z0-9_+#%=-])?$/.test(ref);
  if (!plain || ref.includes("..") || ref.includes("@{") || ref.includes("//") || ref.endsWith(".lock")) {
    throw new SourceFailedError(
      `"${ref.slice(0, 100).toWellFormed()}" cannot be fetched: commitSHA must be the name of a branch or tag, or a full commit id`,
    );
  }
}

function refuse(url: string, what: string): SourceFailedError {
  return new SourceFailedError(
    `repoURL "${url
      .slice(0, 200)
      .toWellFormed()
      .replace(/\p{Cc}/gu, "\uFFFD")}" ${what}; ${advice}`,
  );
}
