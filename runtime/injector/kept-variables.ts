/**
 * Variables of a container that would change how our own Node starts inside the user's image. The launcher renames them
 * before it starts Node, and the executor gives them back to what it starts. Pure.
 */
export const keptVariables: readonly string[] = [
  // Would make our loader load libraries that were built for another libc, or speak on stderr.
  "LD_PRELOAD",
  "LD_AUDIT",
  "LD_DEBUG",
  "GLIBC_TUNABLES",
  // Meant for the Node or the OpenSSL of the user's programs.
  "NODE_OPTIONS",
  "NODE_PATH",
  "NODE_DEBUG",
  "NODE_V8_COVERAGE",
  "NODE_EXTRA_CA_CERTS",
  "NODE_COMPILE_CACHE",
  "OPENSSL_CONF",
];

/** What the launcher puts before the name of a variable that it sets aside. */
export const keptPrefix = "KRUNTIMES_KEPT_";

/** The environment that the container was started with, from the one that the launcher has left. */
export function containerEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name.startsWith(keptPrefix) ? name.slice(keptPrefix.length) : name,
      value,
    ]),
  );
}
