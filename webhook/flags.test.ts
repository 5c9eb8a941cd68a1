import { expect, test } from "vitest";
import { parseFlags } from "./flags.ts";

const needed = ["--tls-cert-file=/tls/tls.crt", "--tls-key-file=/tls/tls.key", "--controller-username=c"];

test("callers need a certificate only when their authority is given", () => {
  expect(parseFlags(needed).certificate).toEqual({ cert: "/tls/tls.crt", key: "/tls/tls.key" });
  const { certificate } = parseFlags([...needed, "--client-ca-file=/client-ca/ca.crt"]);
  expect(certificate).toEqual({ cert: "/tls/tls.crt", key: "/tls/tls.key", clientCa: "/client-ca/ca.crt" });
});
