import { expect, test } from "vitest";
import { readRequester } from "./requester.ts";

test("user name, UID, groups and extra are read, and nothing else", () => {
  const known = { username: "ann", uid: "1", groups: ["a"], extra: { k: ["v"] } };
  expect(readRequester({ ...known, more: 1 })).toEqual(known);
  expect(readRequester({ username: "ann", uid: "" })).toEqual({ username: "ann" });
});

test.each([
  ["nothing", undefined],
  ["null", null],
  ["a text", "ann"],
  ["no user name", { groups: ["a"] }],
  ["an empty user name", { username: "" }],
  ["a number for a user name", { username: 1 }],
  ["a number for a UID", { username: "ann", uid: 1 }],
  ["a text for groups", { username: "ann", groups: "admins" }],
  ["a number among groups", { username: "ann", groups: ["a", 1] }],
  ["a list for extra", { username: "ann", extra: [] }],
  ["a text in extra", { username: "ann", extra: { k: "v" } }],
])("%s is nobody", (_, userInfo) => {
  expect(readRequester(userInfo)).toBeUndefined();
});
