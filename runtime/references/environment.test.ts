import { expect, test, vi } from "vitest";
import type { EnvVar } from "#api/kinds/run.ts";
import { programEnvironment } from "./environment.ts";
import { Lookup } from "./lookup.ts";
import { MemoryReferences } from "./memory-references.ts";
import { MissingReferenceError } from "./port.ts";

const references = new MemoryReferences();
references.put("Secret", "db", {
  password: "p4ss\nword\n",
  empty: "",
  zero: "a\0b",
  latin: Uint8Array.from([0x66, 0xfc]),
  large: "x".repeat(128 * 1024),
  fits: "x".repeat(128 * 1024 - 3),
});
references.put("ConfigMap", "settings", { level: "debug", binary: Buffer.from("größe") });
references.put("Secret", "later");

const secret = (key: string, more: { name?: string; optional?: boolean } = {}): EnvVar => ({
  name: "V",
  valueFrom: { secretKeyRef: { name: "db", key, ...more } },
});
const config = (key: string, more: { name?: string; optional?: boolean } = {}): EnvVar => ({
  name: "V",
  valueFrom: { configMapKeyRef: { name: "settings", key, ...more } },
});
const environment = (...env: EnvVar[]) => programEnvironment({ env }, new Lookup(references, "bash"));

const found: Record<string, { env: EnvVar; value: string | undefined; isSecret: boolean }> = {
  "a plain value": { env: { name: "V", value: "1" }, value: "1", isSecret: false },
  "a variable without a value": { env: { name: "V" }, value: "", isSecret: false },
  "a key of a Secret, newlines and all": { env: secret("password"), value: "p4ss\nword\n", isSecret: true },
  "an empty value": { env: secret("empty"), value: "", isSecret: true },
  "the longest value": { env: secret("fits"), value: "x".repeat(128 * 1024 - 3), isSecret: true },
  "a key of a ConfigMap is no secret": { env: config("level"), value: "debug", isSecret: false },
  "binaryData that is text": { env: config("binary"), value: "größe", isSecret: false },
  "an optional key that is not there": { env: secret("nope", { optional: true }), value: undefined, isSecret: false },
  "an optional key of an object that is not there": {
    env: secret("k", { name: "later", optional: true }),
    value: undefined,
    isSecret: false,
  },
};

test.each(Object.entries(found))("found: %s", async (_, { env, value, isSecret }) => {
  expect(await environment(env)).toEqual({
    env: value === undefined ? {} : { V: value },
    secrets: isSecret ? [value] : [],
  });
});

const missing: Record<string, { env: EnvVar; says: string }> = {
  "a key": { env: secret("user"), says: "Secret db has no key user; add it" },
  "a key of a ConfigMap": { env: config("colour"), says: "ConfigMap settings has no key colour; add it" },
  "an object": { env: secret("k", { name: "later" }), says: "there is no Secret later with a key k; create it" },
  "a place in the list of the Runtime": {
    env: secret("k", { name: "other" }),
    says: "Secret other is not for Runs of Runtime bash; add it to spec.secrets of the Runtime",
  },
  "a place in the list, also when it is optional": {
    env: config("k", { name: "db", optional: true }),
    says: "ConfigMap db is not for Runs of Runtime bash; add it to spec.configMaps of the Runtime",
  },
  "a value without a zero byte": { env: secret("zero"), says: "it holds a zero byte; store it as base64 text" },
  "a value that is text": { env: secret("latin"), says: "it is not UTF-8 text; store it as base64 text" },
  "a value that fits": { env: secret("large"), says: "it has 131072 bytes, more than 131069" },
};

test.each(Object.entries(missing))("missing: %s", async (_, { env, says }) => {
  const error = await environment(env).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(MissingReferenceError);
  expect((error as Error).message).toContain(says);
});

test("a variable may have any name", async () => {
  const { env } = await environment({ name: "__proto__", value: "x" });
  expect(Object.entries(env)).toEqual([["__proto__", "x"]]);
});

test("all values of an object are of one moment", async () => {
  const read = vi.fn(references.read.bind(references));
  const env = [secret("password"), { ...secret("empty"), name: "W" }];
  await programEnvironment({ env }, new Lookup({ read }, "bash"));
  expect(read).toHaveBeenCalledTimes(1);
});
