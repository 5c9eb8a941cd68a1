import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import type { Random } from "#kube/ports.ts";

/** Makes the token of a local cluster and stores it where only its owner can read it. */
export async function writeToken(file: string, random: Random): Promise<string> {
  const token = createHash("sha256").update(`${random.uuid()}${random.uuid()}`).digest("hex");
  await writeFile(file, token, { mode: 0o600 });
  return token;
}
