/** A real sshd on this machine, with one user's key. */
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { script } from "./setup.ts";

const run = promisify(execFile);

export interface SshServer extends AsyncDisposable {
  /** `ssh://USER@HOST:PORT`; a path of this machine follows. */
  readonly address: string;
  /** What opens it, and by what it is known. */
  readonly key: string;
  readonly knownHosts: string;
}

/** @param host address that it listens on and is reached by */
export async function startSshServer(host: string): Promise<SshServer> {
  script("packages.sh", "openssh-server");
  const base = await mkdtemp(join(tmpdir(), "sshd-"));
  const path = (name: string) => join(base, name);
  for (const name of ["host", "user"]) {
    await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path(name)]);
  }
  // Where sshd, as root, gives up its rights.
  if (process.getuid?.() === 0) await mkdir("/run/sshd", { recursive: true });
  const port = await freePort(host);
  const settings = {
    ListenAddress: `${host}:${port}`,
    HostKey: path("host"),
    AuthorizedKeysFile: path("user.pub"),
    PidFile: "none",
    StrictModes: "no",
    UsePAM: "no",
    PasswordAuthentication: "no",
    PermitRootLogin: "prohibit-password",
  };
  await writeFile(
    path("config"),
    Object.entries(settings)
      .map(([name, value]) => `${name} ${value}\n`)
      .join(""),
  );
  const server = spawn("/usr/sbin/sshd", ["-D", "-e", "-f", path("config")], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise<void>((resolve) => server.once("close", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    let said = "";
    server.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.includes("Server listening")) resolve();
    });
    void ended.then(() => reject(new Error(`sshd has ended: ${said}`)));
  });
  const [type, key] = (await readFile(path("host.pub"), "utf8")).split(" ");
  return {
    address: `ssh://${userInfo().username}@${host}:${port}`,
    key: await readFile(path("user"), "utf8"),
    knownHosts: `[${host}]:${port} ${type} ${key}\n`,
    async [Symbol.asyncDispose]() {
      server.kill();
      await ended;
      await rm(base, { recursive: true, force: true });
    },
  };
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, host, () => {
      const address = server.address();
      server.close(() =>
        typeof address === "object" && address ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}
