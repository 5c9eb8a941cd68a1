import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { KeyPair } from "#kube/process/http-server.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { makeCertificate } from "#kube/testing/certificates.ts";
import { eventually } from "#kube/testing/eventually.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { expiryOf, followKeyPair, readKeyPair } from "./certificate-files.ts";

let directory: string;
let files: { cert: string; key: string };
let stop: AbortController;
beforeEach(async () => {
  stop = new AbortController();
  directory = await mkdtemp(join(tmpdir(), "certificate-"));
  files = { cert: join(directory, "tls.crt"), key: join(directory, "tls.key") };
});
afterEach(async () => {
  stop.abort();
  await rm(directory, { recursive: true });
});

async function store({ cert, key }: KeyPair): Promise<void> {
  await writeFile(files.cert, cert);
  await writeFile(files.key, key);
}

test("the expiry is that of the certificate", async () => {
  const pair = makeCertificate("a");
  await store(pair);
  const inAnHour = expiryOf(await readKeyPair(files)) - Date.now();
  expect(inAnHour).toBeGreaterThan(1_700_000);
  expect(inAnHour).toBeLessThanOrEqual(1_800_000);
});

test("a file that is no certificate is refused at the start", async () => {
  await store({ cert: "nothing", key: "nothing" });
  await expect(readKeyPair(files)).rejects.toThrow();
});

test("a new pair is used; one that does not fit together, or is half written, is not", async () => {
  const clock = new VirtualClock();
  const first = makeCertificate("first");
  await store(first);
  const used: string[] = [];
  const use = (pair: KeyPair) => void used.push(pair.cert);
  let warnings = 0;
  const logger = { ...silentLogger, warn: () => warnings++ };
  void followKeyPair(files, await readKeyPair(files), use, { clock, logger, signal: stop.signal });

  const passed = async (what: string, holds: () => boolean) =>
    eventually(what, async () => {
      await clock.elapse(10_000);
      return holds();
    });
  await clock.elapse(60_000);
  expect(used).toEqual([]);

  const second = makeCertificate("second");
  await writeFile(files.cert, second.cert);
  await passed("the key of another certificate was noticed", () => warnings > 0);
  expect(used).toEqual([]);
  await writeFile(files.key, second.key);
  await passed("the new pair is used", () => used.length === 1);
  expect(used).toEqual([second.cert]);
});

test("the authority of callers is read with the pair, and followed", async () => {
  const clock = new VirtualClock();
  await store(makeCertificate("own"));
  const clientCa = join(directory, "ca.crt");
  await expect(readKeyPair({ ...files, clientCa })).rejects.toThrow("ENOENT");
  await writeFile(clientCa, "nothing");
  await expect(readKeyPair({ ...files, clientCa })).rejects.toThrow();
  const [first, second] = [makeCertificate("first"), makeCertificate("second")];
  await writeFile(clientCa, first.cert);
  const used: (string | undefined)[] = [];
  const pair = await readKeyPair({ ...files, clientCa });
  expect(pair.clientCa).toBe(first.cert);
  const follow = { clock, logger: silentLogger, signal: stop.signal };
  void followKeyPair({ ...files, clientCa }, pair, (next) => void used.push(next.clientCa), follow);
  await writeFile(clientCa, second.cert);
  await eventually("the new authority is used", async () => {
    await clock.elapse(10_000);
    return used.length === 1;
  });
  expect(used).toEqual([second.cert]);
});
