import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { timestamp } from "#api/time.ts";
import { type Clock, type Logger, sleep } from "#kube/ports.ts";
import type { KeyPair } from "./http-server.ts";

/** Where a certificate and its key are mounted. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
  /** The authority of the callers' certificates; without it whoever can connect is answered. */
  readonly clientCa?: string;
}

/** How often the files are looked at, in milliseconds: the kubelet itself takes up to a minute to replace them. */
const lookAgainMs = 10_000;

/** @throws Error when a file cannot be read or is no certificate, or the key is that of another one */
export async function readKeyPair(files: CertificateFiles): Promise<KeyPair> {
  const [cert, key, clientCa] = await Promise.all([
    readFile(files.cert, "utf8"),
    readFile(files.key, "utf8"),
    files.clientCa === undefined ? undefined : readFile(files.clientCa, "utf8"),
  ]);
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error(`${files.key} is not the key of the certificate in ${files.cert}`);
  }
  if (clientCa === undefined) return { cert, key };
  new X509Certificate(clientCa); // throws
  return { cert, key, clientCa };
}

/** When the certificate expires, in milliseconds since the epoch. */
export function expiryOf({ cert }: Pick<KeyPair, "cert">): number {
  return new X509Certificate(cert).validToDate.getTime();
}

/**
 * Hands over the pair each time that the files have another one, until the signal is aborted. What cannot be used is
 * logged, and the pair in use stays.
 */
export async function followKeyPair(
  files: CertificateFiles,
  first: KeyPair,
  use: (pair: KeyPair) => void,
  { clock, logger, signal }: { clock: Clock; logger: Logger; signal: AbortSignal },
): Promise<void> {
  let current = first;
  while (!signal.aborted) {
    await sleep(clock, lookAgainMs, signal);
    if (signal.aborted) return;
    try {
      const pair = await readKeyPair(files);
      if (pair.cert === current.cert && pair.key === current.key && pair.clientCa === current.clientCa) continue;
      use(pair);
      current = pair;
      logger.info("the certificate was replaced", { expires: timestamp(expiryOf(pair)) });
    } catch (error) {
      logger.warn("cannot use the certificate in the files; the last one stays", { ...files, error });
    }
  }
}
