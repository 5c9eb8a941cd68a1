import { expect, test } from "vitest";
import { sourcesOf } from "#test/support/sources.ts";

test("controllers pass on references and no bytes: they open no store, no files and no connection to a Pod", async () => {
  const sources = new Map([...(await sourcesOf("controllers")), ...(await sourcesOf("workflows"))]);
  expect(sources.size).toBeGreaterThan(100);
  const opening = /from "(#runtime\/|node:(fs|net|http|tls|child_process)|undici)|openSocket|portforward|pods\/exec/;
  expect([...sources].filter(([, text]) => opening.test(text)).map(([file]) => file)).toEqual([]);
});
