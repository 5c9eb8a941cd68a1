import { expect, test } from "vitest";
import { environmentOf, marksIn } from "#runtime/executor/environment.ts";

const request = { runUid: "uid-1", attempt: 2, bootId: "b", workingDir: "/w", args: [] };

test("container, user, platform and marks: a later one wins", () => {
  const names = ["FROM_CONTAINER", "FROM_USER", "FROM_PLATFORM", "KRUNTIME_ATTEMPT"];
  const all = (value: string) => Object.fromEntries(names.map((name) => [name, value]));
  const env = environmentOf(
    {
      ...request,
      env: { ...all("user"), FROM_PLATFORM: "user" },
      platformEnv: { FROM_PLATFORM: "platform", KRUNTIME_ATTEMPT: "99", KRUNTIME_RUN_UID: "forged" },
    },
    { ...all("container"), ONLY_CONTAINER: "container" },
    "/run/executor.sock",
  );
  expect(env).toEqual({
    ONLY_CONTAINER: "container",
    FROM_CONTAINER: "user",
    FROM_USER: "user",
    FROM_PLATFORM: "platform",
    KRUNTIME_RUN_UID: "uid-1",
    KRUNTIME_ATTEMPT: "2",
    KRUNTIME_EXECUTOR: "/run/executor.sock",
  });
});

const marks = ["KRUNTIME_RUN_UID=uid-1", "KRUNTIME_ATTEMPT=2", "KRUNTIME_EXECUTOR=/s"];
const found = { runUid: "uid-1", attempt: 2, executor: "/s" };

const environs: Record<string, { items: string[]; want: typeof found | undefined }> = {
  "marks anywhere are found": { items: ["A=1", ...marks, "B=2"], want: found },
  "marks at the very beginning and end are found": { items: marks, want: found },
  "a missing mark means a foreign process": { items: marks.slice(1), want: undefined },
  "a mark in the value of another variable does not count": {
    items: ["X=KRUNTIME_RUN_UID=other", ...marks],
    want: found,
  },
  "a longer name that ends like a mark does not count": { items: ["MY_KRUNTIME_RUN_UID=other", ...marks], want: found },
  "an empty environment has none": { items: [], want: undefined },
};

test.each(Object.entries(environs))("%s", (_, { items, want }) => {
  expect(marksIn(Buffer.from(items.map((item) => `${item}\0`).join("")))).toEqual(want);
});
