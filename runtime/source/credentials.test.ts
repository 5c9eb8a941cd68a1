import { expect, test } from "vitest";
import { MissingReferenceError } from "#runtime/references/port.ts";
import { type GitCredentials, gitCredentials } from "./credentials.ts";

const https = "https://example.com/a";
const ssh = "ssh://git@example.com/a";
const bytes = (text: string) => Buffer.from(text);
const credentials = (url: string, values: Record<string, string>) =>
  gitCredentials(url, "git", new Map(Object.entries(values).map(([key, value]) => [key, bytes(value)])));
const login = (username: string, password: string): GitCredentials => ({
  transport: "https",
  login: { username, password },
});

const good: Record<string, { url: string; values: Record<string, string>; want: GitCredentials }> = {
  "user and password": { url: https, values: { username: "ada", password: "p" }, want: login("ada", "p") },
  "the newline that an editor leaves": {
    url: https,
    values: { username: "ada\r\n", password: "p w\n" },
    want: login("ada", "p w"),
  },
  "a token alone": { url: https, values: { token: "t" }, want: login("git", "t") },
  "a token and whose it is": { url: https, values: { username: "x-token", token: "t" }, want: login("x-token", "t") },
  "a password before a token": { url: https, values: { password: "p", token: "t" }, want: login("git", "p") },
  "an authority": {
    url: https,
    values: { token: "t", "ca.crt": "CA" },
    want: { transport: "https", login: { username: "git", password: "t" }, ca: bytes("CA") },
  },
  "an authority alone": { url: https, values: { "ca.crt": "CA" }, want: { transport: "https", ca: bytes("CA") } },
  "a key and hosts": {
    url: "git@example.com:a",
    values: { "ssh-privatekey": "K\n", known_hosts: "h", password: "ignored" },
    want: { transport: "ssh", key: bytes("K\n"), knownHosts: bytes("h") },
  },
  "a key whose last newline was lost": {
    url: ssh,
    values: { "ssh-privatekey": "K", known_hosts: "h" },
    want: { transport: "ssh", key: bytes("K\n"), knownHosts: bytes("h") },
  },
};

test.each(Object.entries(good))("%s", (_, { url, values, want }) => {
  expect(credentials(url, values)).toEqual(want);
});

const bad: Record<string, { url: string; values: Record<string, string>; says: string }> = {
  "no Secret": {
    url: https,
    values: {},
    says: "there is no Secret git with a key token, which a repository over https",
  },
  "a user without a password": { url: https, values: { username: "ada" }, says: "has no value for key token" },
  "an empty password": { url: https, values: { password: "" }, says: "has no value for key password" },
  "a password of two lines": { url: https, values: { password: "a\nb" }, says: "key password of Secret git cannot be" },
  "a user with a zero byte": { url: https, values: { username: "a\0", password: "p" }, says: "key username" },
  "no key": {
    url: ssh,
    values: { known_hosts: "h" },
    says: "no value for key ssh-privatekey, which a repository over ssh",
  },
  "no hosts": { url: ssh, values: { "ssh-privatekey": "K" }, says: "ssh-keyscan" },
  "empty hosts": { url: ssh, values: { "ssh-privatekey": "K", known_hosts: "" }, says: "key known_hosts" },
};

test.each(Object.entries(bad))("refused without repeating a value: %s", (_, { url, values, says }) => {
  expect(() => credentials(url, values)).toThrow(MissingReferenceError);
  expect(() => credentials(url, values)).toThrow(says);
});
