import { X509Certificate } from "node:crypto";
import { request } from "node:https";
import { afterEach, expect, test } from "vitest";
import { seededRandom } from "#kube/seeded-random.ts";
import { systemClock } from "#kube/system-clock.ts";
import { isFresh, loopbackCertificate } from "./certificate.ts";
import { type HttpListener, listen } from "./listener.ts";
import { textAnswer } from "./message.ts";

const now = Date.parse("2026-06-01T00:00:00Z");
const day = 24 * 60 * 60 * 1000;

let listener: HttpListener | undefined;
afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

test("a certificate is its own authority and stands for the loopback address alone", () => {
  const cert = new X509Certificate(loopbackCertificate(now, seededRandom(1)).cert);
  expect(cert.verify(cert.publicKey)).toBe(true);
  expect(cert.ca).toBe(true);
  expect(cert.subject).toBe("CN=kruntimes local cluster");
  expect(cert.checkIP("127.0.0.1")).toBe("127.0.0.1");
  expect(cert.checkHost("localhost")).toBe("localhost");
  expect(cert.checkIP("127.0.0.2")).toBeUndefined();
  expect(cert.validFromDate.getTime()).toBe(now - day);
  expect(cert.validToDate.getTime()).toBe(now + 3650 * day);
});

test("no two certificates share a number", () => {
  const random = seededRandom(1);
  const numbers = Array.from(
    { length: 20 },
    () => new X509Certificate(loopbackCertificate(now, random).cert).serialNumber,
  );
  expect(new Set(numbers).size).toBe(20);
});

test("a certificate is used until a year before it ends", () => {
  const made = loopbackCertificate(now, seededRandom(1));
  expect(isFresh(made, now + 3284 * day)).toBe(true);
  expect(isFresh(made, now + 3286 * day)).toBe(false);
  expect(isFresh({ cert: "broken" }, now)).toBe(false);
});

test("a client that knows the certificate trusts the server, others do not", async () => {
  const tls = loopbackCertificate(systemClock.now(), seededRandom(1));
  listener = await listen(async () => textAnswer(200, "hello"), { tls });
  expect(listener.url).toMatch(/^https:/);
  const call = (ca: string | undefined) =>
    new Promise<string>((resolve, reject) => {
      const outgoing = request(`${listener?.url}/`, ca === undefined ? {} : { ca }, (incoming) => {
        incoming.on("data", (chunk) => resolve(String(chunk)));
      });
      outgoing.on("error", reject);
      outgoing.end();
    });
  expect(await call(tls.cert)).toBe("hello");
  await expect(call(undefined)).rejects.toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
});
