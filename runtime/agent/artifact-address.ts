/** Where the agent serves stored artifacts: a port of 127.0.0.1, or a unix socket. */
export type ArtifactAddress = { readonly port: number } | { readonly socket: string };

/** Port 0 takes a free one. */
const isPort = (text: string) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535;

/** @returns undefined when artifacts are not served. */
export function artifactAddress(port: string | undefined, socket: string | undefined): ArtifactAddress | undefined {
  if (socket !== undefined) return { socket };
  if (port === undefined) return undefined;
  if (!isPort(port)) throw new Error(`kruntimes agent: --artifact-port=${port} is no port`);
  return { port: Number(port) };
}
