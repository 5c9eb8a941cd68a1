/** A real Git server on this machine: https with a login of its own authority, and repositories that git itself serves. */
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface GitServer extends AsyncDisposable {
  /** Address of the one repository. */
  readonly url: string;
  /** Directory of that repository. */
  readonly repository: string;
  /** Certificate that it is to be trusted by. */
  readonly ca: string;
  /** Ids of its commits, the first one first. */
  readonly commits: readonly string[];
  /** Passwords that were sent, in order. */
  readonly passwords: string[];
}

export interface GitServerOptions {
  /** Both are asked for. */
  readonly login: { readonly username: string; readonly password: string };
  /** Files of each commit of branch main, the first one first. */
  readonly commits: readonly Readonly<Record<string, string>>[];
  /** Address that it listens on and is reached by; default 127.0.0.1. */
  readonly host?: string;
  /** Said to those who do not log in. */
  readonly refusal?: string;
}

export async function startGitServer(options: GitServerOptions): Promise<GitServer> {
  const { login, host = "127.0.0.1", refusal = "log in first" } = options;
  const base = await mkdtemp(join(tmpdir(), "git-server-"));
  const repository = join(base, "project.git");
  const commits = await makeRepository(join(base, "work"), repository, options.commits);
  const { key, cert } = await makeCertificate(base, host);
  const wanted = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString("base64")}`;
  const passwords: string[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    const { authorization } = request.headers;
    if (authorization !== undefined) {
      passwords.push(Buffer.from(authorization.replace("Basic ", ""), "base64").toString().replace(/^.*?:/, ""));
    }
    if (authorization === wanted) return serve(base, request, response);
    response.writeHead(401, { "www-authenticate": 'Basic realm="git"', "content-type": "text/plain" });
    response.end(`${refusal}\n`);
  });
  await new Promise<void>((done) => server.listen(0, host, done));
  return {
    url: `https://${host}:${(server.address() as AddressInfo).port}/project.git`,
    repository,
    ca: cert,
    commits,
    passwords,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      await rm(base, { recursive: true, force: true });
    },
  };
}

/** A request by the protocol of CGI, which `git http-backend` speaks. */
function serve(base: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "", "https://server");
  const backend = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: base,
      GIT_HTTP_EXPORT_ALL: "1",
      REQUEST_METHOD: request.method,
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      REMOTE_USER: "somebody",
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  request.pipe(backend.stdin);
  backend.stdin.on("error", () => {}); // it may answer without reading all
  const chunks: Buffer[] = [];
  backend.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  backend.once("close", () => {
    const answer = Buffer.concat(chunks);
    const end = answer.indexOf("\r\n\r\n");
    const headers = answer.subarray(0, end).toString().split("\r\n");
    let status = 200;
    for (const [name = "", value = ""] of headers.map((line) => line.split(/: (.*)/s))) {
      if (name.toLowerCase() === "status") status = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.writeHead(status).end(answer.subarray(end + 4));
  });
}

async function makeRepository(
  work: string,
  bare: string,
  commits: readonly Readonly<Record<string, string>>[],
): Promise<string[]> {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"];
  const git = async (...args: string[]) => (await run("git", [...identity, ...args], { cwd: work })).stdout.trim();
  const ids: string[] = [];
  await mkdir(work);
  await git("init", "--quiet");
  for (const files of commits) {
    for (const [name, content] of Object.entries(files)) await writeFile(join(work, name), content, { mode: 0o755 });
    await git("add", ".");
    await git("commit", "--quiet", "-m", "change");
    ids.push(await git("rev-parse", "HEAD"));
  }
  await git("clone", "--quiet", "--bare", work, bare);
  // As the large services have it: any commit can be fetched by its id.
  await run("git", ["config", "uploadpack.allowReachableSHA1InWant", "true"], { cwd: bare });
  return ids;
}

async function makeCertificate(base: string, host: string): Promise<{ key: string; cert: string }> {
  const [key, cert] = [join(base, "tls.key"), join(base, "tls.crt")];
  const names = ["-subj", "/CN=git", "-addext", `subjectAltName=IP:${host}`];
  await run("openssl", [
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"],
    ...[...names, "-keyout", key, "-out", cert],
  ]);
  return { key: await readFile(key, "utf8"), cert: await readFile(cert, "utf8") };
}

/** The example of a private repository, as a reader would change it for this server. */
export function withRepository(example: string, { url, ca }: Pick<GitServer, "url" | "ca">): string {
  return example
    .replace("https://git.example.com/team/project.git", url)
    .replace("  password: ", `  ca.crt: ${JSON.stringify(ca)}\n  password: `);
}

/** The login and the commits that the example expects. */
export const exampleRepository: GitServerOptions = {
  login: { username: "ci", password: "a-token-of-your-git-server" },
  commits: [{ "build.sh": "echo built from a private repository\n" }],
};
