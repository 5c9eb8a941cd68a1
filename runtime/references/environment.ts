import { isUtf8 } from "node:buffer";
import type { RunSpec } from "#api/kinds/run.ts";
import type { ReferenceKind } from "#api/pod-layout.ts";
import type { Lookup } from "./lookup.ts";
import { MissingReferenceError } from "./port.ts";

/** The variables of a program, and which texts in its output are nobody's business. */
export interface ProgramEnvironment {
  readonly env: Readonly<Record<string, string>>;
  /** Values of Secrets among them. */
  readonly secrets: readonly string[];
}

/** One variable with its name, `=` and the closing zero: MAX_ARG_STRLEN of Linux (execve(2)). */
const maxVariableBytes = 128 * 1024;

/**
 * The variables of a Run, with the values of Secrets and ConfigMaps in place.
 *
 * @throws MissingReferenceError when one is missing that is not optional, or cannot be the value of a variable
 */
export async function programEnvironment(
  { env = [] }: Pick<RunSpec, "env">,
  lookup: Lookup,
): Promise<ProgramEnvironment> {
  const values: [string, string][] = [];
  const secrets: string[] = [];
  for (const { name, value, valueFrom } of env) {
    const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
    const kind = secretKeyRef === undefined ? "ConfigMap" : "Secret";
    const ref = secretKeyRef ?? configMapKeyRef;
    if (ref === undefined) {
      values.push([name, value ?? ""]);
      continue;
    }
    const data = await lookup.data(kind, ref.name);
    if (ref.optional === true && !data.has(ref.key)) continue;
    const text = textOf(await lookup.value(kind, ref.name, ref.key), name, kind, ref);
    values.push([name, text]);
    if (kind === "Secret") secrets.push(text);
  }
  return { env: Object.fromEntries(values), secrets };
}

/** The value as a variable can hold it. No message repeats a part of it. */
function textOf(bytes: Uint8Array, name: string, kind: ReferenceKind, ref: { name: string; key: string }): string {
  const refuse = (problem: string, advice: string) =>
    new MissingReferenceError(
      `key ${ref.key} of ${kind} ${ref.name} cannot be the value of variable ${name}: ${problem}; ${advice}`,
    );
  const room = maxVariableBytes - name.length - 2;
  if (bytes.byteLength > room) {
    throw refuse(`it has ${bytes.byteLength} bytes, more than ${room}`, "put it into the image or the source");
  }
  if (bytes.includes(0)) throw refuse("it holds a zero byte", "store it as base64 text");
  if (!isUtf8(bytes)) throw refuse("it is not UTF-8 text", "store it as base64 text");
  return Buffer.from(bytes).toString("utf8");
}

/**
 * The values of Secrets that a program may have, as they are now: for an agent that has restarted while the program runs,
 * and cannot know what they were at its start.
 */
export async function secretsNow(
  { env = [] }: Pick<RunSpec, "env">,
  lookup: Lookup,
): Promise<{ readonly secrets: readonly string[]; readonly isComplete: boolean }> {
  const secrets: string[] = [];
  let isComplete = true;
  for (const variable of env.filter(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined)) {
    try {
      secrets.push(...(await programEnvironment({ env: [variable] }, lookup)).secrets);
    } catch (error) {
      if (!(error instanceof MissingReferenceError)) throw error;
      isComplete = false;
    }
  }
  return { secrets, isComplete };
}
