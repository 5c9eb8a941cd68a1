import { randomUUID } from "node:crypto";
import type { Random } from "#kube/ports.ts";

/** Real chance. */
export const systemRandom: Random = {
  next: () => Math.random(),
  uuid: () => randomUUID(),
};
