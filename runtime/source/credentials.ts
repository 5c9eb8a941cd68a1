import { isUtf8 } from "node:buffer";
import { MissingReferenceError, type ReferenceData } from "#runtime/references/port.ts";
import { parseGitUrl } from "#runtime/source/git-url.ts";

/** What a repository asks for, out of a Secret. */
export type GitCredentials =
  | {
      readonly transport: "https";
      /** Absent when the Secret only has `ca.crt`, for a public repository of a private authority. */
      readonly login?: { readonly username: string; readonly password: string };
      /** Certificates of the authorities to trust, in place of the usual ones. */
      readonly ca?: Uint8Array;
    }
  | { readonly transport: "ssh"; readonly key: Uint8Array; readonly knownHosts: Uint8Array };

/** For a token nobody asks whose it is: the services that give out tokens take any name. */
const anyUser = "git";

/**
 * Picks what the repository needs out of a Secret: the keys of `kubernetes.io/basic-auth` or a `token` for https (and
 * `ca.crt`), those of `kubernetes.io/ssh-auth` and `known_hosts` for ssh.
 *
 * @throws MissingReferenceError when a key is missing, or cannot be what it should
 * @throws SourceFailedError when the address is none
 */
export function gitCredentials(repoURL: string, secret: string, data: ReferenceData): GitCredentials {
  const needs = (key: string): Uint8Array => {
    const value = data.get(key);
    if (value !== undefined && value.byteLength > 0) return value;
    const what = parseGitUrl(repoURL).transport === "ssh" ? "a repository over ssh" : "a repository over https";
    const state = data.size === 0 ? `there is no Secret ${secret} with a key` : `Secret ${secret} has no value for key`;
    throw new MissingReferenceError(`${state} ${key}, which ${what} needs; ${advice[key]}`);
  };
  if (parseGitUrl(repoURL).transport === "ssh") {
    return { transport: "ssh", key: withNewline(needs("ssh-privatekey")), knownHosts: needs("known_hosts") };
  }
  const ca = data.get("ca.crt");
  if (ca !== undefined && !data.has("password") && !data.has("token")) return { transport: "https", ca };
  const line = (key: string, value: Uint8Array): string => {
    const text = Buffer.from(value)
      .toString("utf8")
      .replace(/\r?\n$/, "");
    if (isUtf8(value) && text !== "" && !/[\0\r\n]/.test(text)) return text;
    throw new MissingReferenceError(
      `key ${key} of Secret ${secret} cannot be used to log in: it has to be one line of text; store it without line breaks`,
    );
  };
  const username = data.get("username");
  return {
    transport: "https",
    login: {
      username: username === undefined ? anyUser : line("username", username),
      password: data.has("password") ? line("password", needs("password")) : line("token", needs("token")),
    },
    ...(ca === undefined ? {} : { ca }),
  };
}

const advice: Readonly<Record<string, string>> = {
  password: "store the password there",
  token: "store a token there, or username and password (kubernetes.io/basic-auth)",
  "ssh-privatekey": "store the private key there (kubernetes.io/ssh-auth)",
  known_hosts: "store the output of `ssh-keyscan HOST` there, after you have checked it",
};

/** ssh does not read a key whose last line is not ended, which is easily lost on the way into a Secret. */
function withNewline(key: Uint8Array): Uint8Array {
  return key.at(-1) === 0x0a ? key : Buffer.concat([key, Buffer.from("\n")]);
}

/** The texts that no message may repeat. */
export function secretsOf(credentials: GitCredentials | undefined): readonly (string | Uint8Array)[] {
  if (credentials === undefined) return [];
  if (credentials.transport === "ssh") return [credentials.key];
  return credentials.login === undefined ? [] : [credentials.login.password];
}
