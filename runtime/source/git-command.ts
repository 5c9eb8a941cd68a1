import type { GitCredentials } from "#runtime/source/credentials.ts";
import type { GitUrl } from "#runtime/source/git-url.ts";

/** How git is called, as data: nothing of the machine's or the user's configuration counts, and nothing can be prompted for. */

/** Variables of the agent that git may see: how to find programs, proxies and certificate authorities. */
const passedOn = [
  "PATH",
  "http_proxy",
  "https_proxy",
  "HTTPS_PROXY",
  "all_proxy",
  "ALL_PROXY",
  "no_proxy",
  "NO_PROXY",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "GIT_SSL_CAINFO",
];

export interface GitEnvironment {
  /** A private directory with nothing in it but the {@link secretFiles} of these credentials. */
  readonly home: string;
  readonly url: GitUrl;
  readonly credentials?: GitCredentials;
}

/** Files in the private directory. */
const files = { username: "username", password: "password", ca: "ca.crt", key: "key", knownHosts: "known_hosts" };

/** What must stand in the private directory, by name. Nothing of it is in an argument or a variable. */
export function secretFiles(credentials: GitCredentials | undefined): Readonly<Record<string, string | Uint8Array>> {
  if (credentials === undefined) return {};
  if (credentials.transport === "ssh") {
    return { [files.key]: credentials.key, [files.knownHosts]: credentials.knownHosts };
  }
  const { login, ca } = credentials;
  return {
    ...(login && { [files.username]: `${login.username}\n`, [files.password]: `${login.password}\n` }),
    ...(ca && { [files.ca]: ca }),
  };
}

/** Environment of every git process. Without askpass programs and terminal, a missing credential is an error at once. */
export function gitEnvironment(
  agent: Readonly<Record<string, string | undefined>>,
  { home, url, credentials }: GitEnvironment,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of passedOn) {
    const value = agent[name];
    if (value !== undefined) env[name] = value;
  }
  return {
    ...env,
    HOME: home,
    XDG_CONFIG_HOME: home,
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ALLOW_PROTOCOL: url.transport,
    GIT_LFS_SKIP_SMUDGE: "1",
    GIT_SSH_COMMAND: sshCommand(home, credentials),
    // Not as a setting: the variable of the agent would win.
    ...(credentials?.transport === "https" && credentials.ca && { GIT_SSL_CAINFO: `${home}/${files.ca}` }),
  };
}

/** Options of every git command. */
export function gitOptions({ url, credentials }: GitEnvironment): string[] {
  const settings = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "credential.helper=",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.unpackLimit=1", // one pack file: its size can be limited
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
  ];
  if (url.transport === "https" && credentials?.transport === "https") {
    // Only for this host: a redirect to another one gets no credentials.
    if (credentials.login) settings.push(`credential.https://${url.host}.helper=${credentialHelper}`);
  }
  return settings.flatMap((setting) => ["-c", setting]);
}

/**
 * Reads the private directory when git asks, so that no argument and no variable has what stands there. In words of the
 * shell alone: the image has few programs.
 */
const credentialHelper =
  '!f() { test "$1" = get || exit 0; ' +
  `IFS= read -r u < "$HOME/${files.username}"; IFS= read -r p < "$HOME/${files.password}"; ` +
  `printf 'username=%s\\npassword=%s\\n' "$u" "$p"; }; f`;

function sshCommand(home: string, credentials: GitCredentials | undefined): string {
  const common = "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=/dev/null";
  if (credentials?.transport !== "ssh") return `${common} -o UserKnownHostsFile=/dev/null`;
  return `${common} -o IdentitiesOnly=yes -i '${home}/${files.key}' -o 'UserKnownHostsFile=${home}/${files.knownHosts}'`;
}

/** The steps after the directory was initialised, in order. */
export const gitCommands = {
  init: ["init", "--quiet", "--template="],
  remote: (url: string) => ["remote", "add", "origin", url],
  fetch: (ref: string) => ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "origin", ref],
  /** Sizes of all files of the commit, before any of them is written. */
  sizes: ["ls-tree", "-r", "-l", "-z", "--full-tree", "FETCH_HEAD"],
  checkout: ["checkout", "--quiet", "--detach", "FETCH_HEAD"],
  commit: ["rev-parse", "HEAD"],
} as const;

/** Adds up the sizes in the output of `ls-tree -l -z`, which may come in any chunks. */
export class TreeSize {
  #rest = "";
  bytes = 0;
  files = 0;

  push(chunk: Uint8Array): void {
    // Mode, type, object and size are ASCII and come before the tab; names do not matter.
    const entries = (this.#rest + Buffer.from(chunk).toString("latin1")).split("\0");
    this.#rest = entries.pop() ?? "";
    for (const entry of entries) {
      const size = /^\d+ blob [0-9a-f]+ +(\d+)\t/.exec(entry)?.[1];
      if (size === undefined) continue;
      this.bytes += Number(size);
      this.files += 1;
    }
  }
}
