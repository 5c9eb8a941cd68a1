/**
 * The two rules that keep the architecture what the folder names say: dependencies point one way, and only adapters
 * touch the world (clock, randomness, timers, files, sockets, processes).
 */

/** What each folder may import from, besides itself. Siblings never import each other. */
export const layers: Readonly<Record<string, readonly string[]>> = {
  api: [],
  machines: ["api"],
  kube: ["api", "machines"],
  workflows: ["api", "machines", "kube"],
  controllers: ["api", "machines", "kube", "workflows"],
  webhook: ["api", "machines", "kube", "workflows"],
  "extension-api": ["api", "machines", "kube", "workflows"],
  runtime: ["api", "machines", "kube", "workflows"],
  local: ["api", "machines", "kube", "workflows", "controllers", "webhook", "extension-api", "runtime"],
  cli: ["api", "machines", "kube", "workflows", "controllers", "webhook", "extension-api", "runtime", "local"],
};

/** Packages that a pure layer may use; other layers may use any dependency. */
const packages: Readonly<Record<string, readonly string[]>> = {
  api: ["@sinclair/typebox", "node:crypto"],
  machines: ["xstate"],
};

/** Files whose business is to touch the world; a trailing `/` names a folder. Everything else takes a port. */
export const adapters: readonly string[] = [
  "kube/system-clock.ts",
  "kube/system-random.ts",
  "kube/virtual-clock.ts",
  "kube/testing/",
  "kube/http-transport.ts",
  "kube/kubeconfig.ts",
  "kube/web-socket.ts",
  "kube/process/api-access.ts",
  "kube/process/certificate-files.ts",
  "kube/process/http-server.ts",
  "kube/process/signals.ts",
  "runtime/executor-contract.ts",
  "runtime/executor/interpreter.ts",
  "runtime/executor/main.ts",
  "runtime/executor/oom.ts",
  "runtime/executor/pipes.ts",
  "runtime/executor/proc-scan.ts",
  "runtime/executor/process.ts",
  "runtime/executor/server.ts",
  "runtime/executor/stderr-logger.ts",
  "runtime/executor/test-executor.ts",
  "runtime/injector/main.ts",
  "runtime/proto/conformance.ts",
  "runtime/proto/shell-program.ts",
  "runtime/files/anchor.ts",
  "runtime/files/remove-tree.ts",
  "runtime/files/system-files.ts",
  "runtime/references/system-references.ts",
  "runtime/source/directory-size.ts",
  "runtime/source/run-git.ts",
  "runtime/source/system-git.ts",
  "runtime/agent/artifact-server-http.ts",
  "workflows/testing/",
  "extension-api/client/download-files.ts",
  "extension-api/client/http-over.ts",
  "extension-api/server/https-server.ts",
  "local/http/gather.ts",
  "local/http/listener.ts",
  "local/http/port-forward.ts",
  "local/http/upgrades.ts",
  "local/logs/log-file.ts",
  "local/node/file-lines.ts",
  "local/node/log-segments.ts",
  "local/node/system-directories.ts",
  "local/node/system-processes.ts",
  "local/openapi/model-files.ts",
  "local/storage/database.ts",
  "local/storage/lock.ts",
  "local/state/files.ts",
  "cli/system/",
];

const worldModules = new Set([
  "fs",
  "fs/promises",
  "net",
  "tls",
  "http",
  "https",
  "http2",
  "dgram",
  "dns",
  "dns/promises",
  "sqlite",
  "undici",
  "ws",
  "child_process",
  "worker_threads",
  "timers",
  "timers/promises",
]);

const worldCalls: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /\bDate\.now\b/, instead: "Clock.now()" },
  { pattern: /\bnew Date\(\s*\)/, instead: "Clock.now()" },
  { pattern: /\bperformance\.now\b/, instead: "Clock.monotonic()" },
  { pattern: /\bprocess\.hrtime\b/, instead: "Clock.monotonic()" },
  { pattern: /\bMath\.random\b/, instead: "Random.next()" },
  { pattern: /\brandomUUID\b/, instead: "Random.uuid()" },
  { pattern: /(?<![.\w])(setTimeout|setInterval|setImmediate)\s*\(/, instead: "Clock.after()" },
];

export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** Blanks comments, keeps strings and line numbers. */
export function withoutComments(source: string): string {
  return source.replace(
    /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|(\/\*[\s\S]*?\*\/|\/\/[^\n]*)/g,
    (match, text: string | undefined) => text ?? match.replace(/[^\n]/g, " "),
  );
}

/** The module names that a source imports, with their lines. */
export function importsOf(source: string): { name: string; line: number }[] {
  const pattern = /(?:\bfrom\s*|\bimport\s*\(?\s*)"([^"\n]+)"/g;
  return [...source.matchAll(pattern)].map((match) => ({
    name: match[1] ?? "",
    line: source.slice(0, match.index).split("\n").length,
  }));
}

const isAdapter = (file: string) => adapters.some((one) => (one.endsWith("/") ? file.startsWith(one) : file === one));

/** Whether a file touches the world. One in {@link adapters} that does not needs no place there. */
export function touchesWorld(text: string): boolean {
  const source = withoutComments(text);
  return (
    importsOf(source).some(({ name }) => worldModules.has(name.replace(/^node:/, ""))) ||
    worldCalls.some(({ pattern }) => pattern.test(source))
  );
}

/**
 * Checks one file.
 * @param file path from the root of the project, with `/`
 */
export function check(file: string, text: string): Finding[] {
  const layer = file.split("/")[0] ?? "";
  const allowed = layers[layer];
  if (allowed === undefined || file.endsWith(".test.ts")) return [];
  const source = withoutComments(text);
  const findings: Finding[] = [];
  const find = (line: number, message: string) => findings.push({ file, line, message });

  for (const { name, line } of importsOf(source)) {
    const target = targetLayer(file, name);
    if (target !== undefined) {
      if (target !== layer && !allowed.includes(target)) find(line, `${layer} must not import ${target} (${name})`);
      continue;
    }
    const only = packages[layer];
    if (only !== undefined && !only.some((one) => name === one || name.startsWith(`${one}/`))) {
      find(line, `${layer} must not import the package ${name}`);
    }
    if (worldModules.has(name.replace(/^node:/, "")) && !isAdapter(file)) {
      find(
        line,
        `${name} belongs into an adapter; take a port instead (scripts/lint/architecture.ts lists the adapters)`,
      );
    }
  }
  if (!isAdapter(file)) {
    for (const [index, content] of source.split("\n").entries()) {
      for (const { pattern, instead } of worldCalls) {
        const match = pattern.exec(content);
        if (match) find(index + 1, `${match[0].trim()} touches the world; use ${instead}`);
      }
    }
  }
  return findings;
}

/** The layer that an import leads to, or undefined for a package. */
function targetLayer(file: string, name: string): string | undefined {
  if (name.startsWith("#")) return name.slice(1).split("/")[0];
  if (!name.startsWith(".")) return undefined;
  const parts = file.split("/").slice(0, -1);
  for (const part of name.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts[0];
}
