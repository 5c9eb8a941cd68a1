import { createHash } from "node:crypto";
import { stableJson } from "./json.ts";

/** SHA-256 of a text, in hexadecimal. */
export function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/** FNV-1a with 32 bits over the UTF-8 bytes of a text: a stable, well spread number, no protection against intent. */
export function fnv1a32(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text, "utf8")) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/**
 * Eight hexadecimal characters (32 bits of SHA-256) over a JSON value, the same for equal values on every machine and in every
 * release. Names that carry it are checked for their owner, so a collision is seen and another name is tried.
 */
export function hash8(value: unknown): string {
  return sha256(stableJson(value)).slice(0, 8);
}
