import { generateKeyPairSync, sign, X509Certificate } from "node:crypto";
import type { Random } from "#kube/ports.ts";
import { bits, boolean, context, integer, octets, oid, sequence, set, utcTime, utf8 } from "./der.ts";

/** A certificate with its key, both as PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const day = 24 * 60 * 60 * 1000;
/** A local cluster is reached through its own kubeconfig, which names the certificate; it is renewed long before. */
const validityMs = 3650 * day;
const renewBeforeMs = 365 * day;
/** Clocks of virtual machines may be behind. */
const backdateMs = day;

/**
 * Makes a certificate for the loopback address that is its own authority. kubectl sends its token over TLS only.
 *
 * @param now milliseconds since the epoch
 */
export function loopbackCertificate(now: number, random: Random): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(oid("1.2.840.10045.4.3.2")); // ECDSA with SHA-256
  const name = sequence(set(sequence(oid("2.5.4.3"), utf8("kruntimes local cluster"))));
  const content = sequence(
    context(0, integer(Buffer.from([2]))), // version 3
    integer(serialNumber(random)),
    algorithm,
    name,
    sequence(utcTime(now - backdateMs), utcTime(now + validityMs)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    context(3, extensions()),
  );
  const signature = sign("sha256", content, privateKey);
  const der = sequence(content, algorithm, bits(signature));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
}

/** Whether a certificate can still be used for a good while. */
export function isFresh({ cert }: Pick<Certificate, "cert">, now: number): boolean {
  try {
    return new X509Certificate(cert).validToDate.getTime() - now > renewBeforeMs;
  } catch {
    return false;
  }
}

/** 16 bytes that make a positive number. */
function serialNumber(random: Random): Buffer {
  const bytes = Buffer.from(random.uuid().replaceAll("-", ""), "hex");
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes;
}

function extensions(): Buffer {
  const extension = (id: string, critical: boolean, value: Buffer) =>
    sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value));
  const loopback = context(7, Buffer.from([127, 0, 0, 1]), false);
  const localhost = context(2, Buffer.from("localhost"), false);
  return sequence(
    extension("2.5.29.19", true, sequence(boolean(true))), // an authority, for itself
    extension("2.5.29.15", true, bits(Buffer.from([0b1000_0100]), 2)), // digitalSignature, keyCertSign
    extension("2.5.29.37", false, sequence(oid("1.3.6.1.5.5.7.3.1"))), // serverAuth
    extension("2.5.29.17", false, sequence(loopback, localhost)),
  );
}
