import { createHash } from "node:crypto";
import type { Random } from "#kube/ports.ts";
import { type Certificate, isFresh, loopbackCertificate } from "#local/http/certificate.ts";
import { readText, writePrivate } from "./files.ts";
import type { StateLayout } from "./layout.ts";

/** How clients know the server, and the server its clients. */
export interface Credentials extends Certificate {
  readonly token: string;
}

const tokenForm = /^[0-9a-f]{64}$/;

/**
 * Token and certificate of a state directory. They are made once and kept, so that a kubeconfig that was copied elsewhere
 * stays good over restarts.
 *
 * @param now milliseconds since the epoch
 */
export function credentialsOf(layout: StateLayout, now: number, random: Random): Credentials {
  return { token: tokenOf(layout, random), ...certificateOf(layout, now, random) };
}

function tokenOf(layout: StateLayout, random: Random): string {
  const kept = readText(layout.token);
  if (kept !== undefined && tokenForm.test(kept)) return kept;
  const token = createHash("sha256").update(`${random.uuid()}${random.uuid()}`).digest("hex");
  writePrivate(layout.token, token);
  return token;
}

function certificateOf(layout: StateLayout, now: number, random: Random): Certificate {
  const cert = readText(layout.certificate);
  const key = readText(layout.key);
  if (cert !== undefined && key !== undefined && isFresh({ cert }, now)) return { cert, key };
  const made = loopbackCertificate(now, random);
  // The certificate counts only with its key, so the key comes first.
  writePrivate(layout.key, made.key);
  writePrivate(layout.certificate, made.cert);
  return made;
}
