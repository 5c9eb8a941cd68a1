/** X.509 certificates for tests, written in DER by hand so that no tool has to be installed. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

export interface Certificate {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
  readonly name: string;
  readonly privateKey: KeyObject;
}

/** A certificate for `name`, valid for an hour around now; signed by `issuer`, or by itself as an authority. */
export function makeCertificate(name: string, issuer?: Certificate): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
  const extensions = [
    // basicConstraints, critical
    sequence(oid(0x55, 0x1d, 0x13), tlv(0x01, [0xff]), octets(sequence(...(issuer ? [] : [tlv(0x01, [0xff])])))),
    // subjectAltName: DNS:localhost, IP:127.0.0.1
    sequence(oid(0x55, 0x1d, 0x11), octets(sequence(tlv(0x82, Buffer.from("localhost")), tlv(0x87, [127, 0, 0, 1])))),
  ];
  const body = sequence(
    tlv(0xa0, tlv(0x02, [2])),
    tlv(0x02, [0x01, ...randomBytes(8)]),
    ecdsaWithSha256,
    commonName(issuer?.name ?? name),
    sequence(utcTime(Date.now() - 1_800_000), utcTime(Date.now() + 1_800_000)),
    commonName(name),
    publicKey.export({ type: "spki", format: "der" }),
    tlv(0xa3, sequence(...extensions)),
  );
  const signature = sign("sha256", body, issuer?.privateKey ?? privateKey);
  const der = sequence(body, ecdsaWithSha256, tlv(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    name,
    privateKey,
  };
}

function tlv(tag: number, content: Uint8Array | number[]): Buffer {
  const body = Buffer.from(content);
  const length =
    body.length < 0x80
      ? [body.length]
      : body.length < 0x100
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const sequence = (...parts: Uint8Array[]): Buffer => tlv(0x30, Buffer.concat(parts));
const oid = (...bytes: number[]): Buffer => tlv(0x06, bytes);
const octets = (content: Uint8Array): Buffer => tlv(0x04, content);
const commonName = (name: string): Buffer =>
  sequence(tlv(0x31, sequence(oid(0x55, 0x04, 0x03), tlv(0x0c, Buffer.from(name)))));

function utcTime(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\..*/g, "");
  return tlv(0x17, Buffer.from(`${text.slice(2)}Z`));
}
