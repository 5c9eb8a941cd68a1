import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { timestamp } from "#api/time.ts";
import { type Followed, LogWorld } from "#test/support/log-world.ts";
import type { LogItem } from "../logs/items.ts";

const numbered = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => `line ${from + n}`);
const messages = (items: readonly LogItem[]) => items.map(({ message }) => message);

/** A Run that goes on, on Pod p1. */
function going(): LogWorld {
  const world = new LogWorld("pods/log");
  world.run("a", world.on("p1"));
  return world;
}

function print(world: LogWorld, from: number, to: number, message = (n: number) => `line ${n}`): void {
  let text = "";
  for (let n = from; n <= to; n++) text += world.line("a", n, message(n)) + world.line("other", n, "not yours");
  world.pod("p1").print(text);
}

/** The Run ends, with the mark behind its last record. */
function end(world: LogWorld, seq: number): void {
  world.pod("p1").print(world.line("a", seq, "", { stream: "system", last: true }));
  world.run("a", world.on("p1", { phase: "Succeeded" }));
}

async function take(followed: Followed, count: number): Promise<LogItem[]> {
  const items: LogItem[] = [];
  while (items.length < count) {
    const item = await followed.next();
    if (item === undefined) throw new Error(`the stream ended after ${items.length}`);
    items.push(item);
  }
  return items;
}

test("one stream from the API server is shared by all followers of a Pod, and closed with the last of them", async () => {
  const world = going();
  world.run("other", world.on("p1"));
  const followers = await Promise.all(["a", "a", "other", "a"].map((name) => world.follow(name)));
  expect(world.podLogs.stats().streams).toBe(1);
  expect(world.pod("p1").open).toBe(1);
  print(world, 1, 3);
  for (const followed of followers) expect(await take(followed, 3)).toHaveLength(3);
  for (const followed of followers) {
    expect(world.pod("p1").open).toBe(1);
    await followed.leave();
  }
  await expect.poll(() => world.pod("p1").open).toBe(0);
  expect(world.podLogs.stats()).toEqual({ streams: 0, bytes: 0 });
});

test("who comes later gets what was before from the node, and goes on with the shared stream, without a gap", async () => {
  const world = going();
  const first = await world.follow("a");
  const rest = first.rest();
  for (let round = 0; round < 10; round++) {
    print(world, round * 20 + 1, round * 20 + 20);
    const late = await world.follow("a", { cursor: "start" });
    expect(messages(await take(late, (round + 1) * 20))).toEqual(numbered(1, (round + 1) * 20));
    await late.leave();
  }
  end(world, 201);
  expect(messages(await rest)).toEqual(numbered(1, 200));
});

test("who follows from the start asks the node once, and not for what was printed before the attempt began", async () => {
  const world = new LogWorld("pods/log");
  world.pod("p1").print(world.line("other", 1, "long ago"));
  world.pod("p1").stored.pass(600_000);
  const startMs = Math.floor(world.pod("p1").stored.nowMs / 1000) * 1000;
  const startTime = timestamp(startMs + 1000);
  world.run("a", world.on("p1", { startTime }));
  const followed = await world.follow("a", { cursor: "start" });
  print(world, 1, 3);
  expect(messages(await take(followed, 3))).toEqual(numbered(1, 3));
  expect(world.pod("p1").stored.asked).toEqual([
    expect.objectContaining({ follow: "true", sinceTime: timestamp(startMs).replace(".000000", "") }),
  ]);
  await followed.leave();
});

test("a stream that hangs when its Pod goes does not hold up what comes after it", async () => {
  const world = going();
  const followed = await world.follow("a");
  print(world, 1, 3);
  expect(messages(await take(followed, 3))).toEqual(numbered(1, 3));
  world.pods.delete("p1"); // nobody ends the stream
  world.run("a", world.on("p2", { attempt: 2, attempts: [{ number: 1, pod: "p1" }], phase: "Succeeded" }));
  world.pod("p2").print(world.line("a", 1, "two", { attempt: 2 }));
  expect(messages(await followed.rest())).toEqual(["two"]);
});

test("a stream that lost the end of a log is left for what the node has stored", async () => {
  const world = going();
  const followed = await world.follow("a");
  print(world, 1, 3);
  expect(messages(await take(followed, 3))).toEqual(numbered(1, 3));
  world.pod("p1").stored.silent = true;
  print(world, 4, 6);
  end(world, 7);
  expect(messages(await followed.rest())).toEqual(numbered(4, 6));
});

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** What the process keeps, in MB. */
function kept(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 1e6;
}

test("200 followers on one Run share one stream within flat memory", async () => {
  const world = going();
  const followers = await Promise.all(Array.from({ length: 200 }, () => world.follow("a")));
  const counts = followers.map(() => 0);
  const readers = followers.map(async (followed, index) => {
    for (let item = await followed.next(); item !== undefined; item = await followed.next()) {
      expect(item.status).toBeUndefined();
      counts[index] = (counts[index] ?? 0) + 1;
    }
  });
  const filler = "x".repeat(2000);
  let printed = 0;
  let waiting = 0;
  const round = async () => {
    for (let piece = 0; piece < 10; piece++) {
      print(world, printed + 1, printed + 50, () => filler);
      printed += 50;
      await expect.poll(() => Math.min(...counts), { timeout: 10_000, interval: 5 }).toBe(printed);
      waiting = Math.max(waiting, world.podLogs.stats().bytes);
    }
    // The world keeps what was printed; it is no part of the service.
    return kept() - 2 * printed * 2200e-6 * 2;
  };
  expect(world.pod("p1").open).toBe(1);
  const before = await round();
  for (let rounds = 0; rounds < 2; rounds++) {
    expect(await round(), "what 200 followers keep does not grow with what was printed, in MB").toBeLessThan(
      before + 8,
    );
  }
  expect(waiting).toBeLessThanOrEqual(4 * 1024 * 1024);
  end(world, printed + 1);
  await Promise.all(readers);
  expect(counts).toEqual(followers.map(() => printed));
}, 60_000);

test("a slow follower is cut with a system record and resumes by its cursor; the others never wait for it", async () => {
  const world = going();
  const slow = await world.follow("a");
  const fast = await world.follow("a");
  print(world, 1, 10);
  expect(messages(await take(slow, 10))).toEqual(numbered(1, 10));
  // More than may wait: 4 MiB.
  const filler = "x".repeat(10_000);
  const rest = take(fast, 810);
  for (let n = 11; n <= 810; n += 100) print(world, n, n + 99, (each) => `line ${each} ${filler}`);
  expect(await rest).toHaveLength(810);
  expect(world.podLogs.stats().bytes).toBeLessThanOrEqual(4.2 * 1024 * 1024);

  const left: LogItem[] = [];
  for (let item = await slow.next(); item !== undefined; item = await slow.next()) left.push(item);
  const cut = left.at(-1);
  expect(cut).toMatchObject({ stream: "system", status: { code: 429, reason: "TooManyRequests" } });
  const again = await world.follow("a", { cursor: cut?.cursor ?? "" });
  end(world, 811);
  const all = [...left.slice(0, -1), ...(await again.rest())].map(({ message }) => message.split(" ", 2).join(" "));
  expect(all).toEqual(numbered(11, 810));
  expect(await fast.next()).toBeUndefined();
});

test("a stream that breaks is opened again where it broke: followers notice nothing", async () => {
  const world = going();
  const rest = (await world.follow("a", { cursor: "start" })).rest();
  for (let n = 1; n <= 50; n++) {
    print(world, n, n);
    if (n % 5 === 0) {
      await expect.poll(() => world.pod("p1").open).toBe(1);
      world.pod("p1").stored.cut();
    }
  }
  end(world, 51);
  expect(messages(await rest)).toEqual(numbered(1, 50));
});

test("an agent that is started again is followed into its next life, and what was before is still read", async () => {
  const world = going();
  const rest = (await world.follow("a")).rest();
  print(world, 1, 5);
  world.pod("p1").stored.restart();
  print(world, 6, 9);
  await expect.poll(() => world.pod("p1").open).toBe(1);
  const late = (await world.follow("a", { cursor: "start" })).rest();
  end(world, 10);
  expect(messages(await rest)).toEqual(numbered(1, 9));
  expect(messages(await late)).toEqual(numbered(1, 9));
  expect(messages((await world.snapshot("a")).items)).toEqual(numbered(1, 9));
});

test("records that the node removed before they were read are told with their number, never passed over", async () => {
  const world = going();
  print(world, 1, 5);
  const followed = await world.follow("a", { cursor: "start" });
  expect(messages(await take(followed, 5))).toEqual(numbered(1, 5));
  // The node changes the file under its followers without having sent the rest of it.
  print(world, 6, 8);
  world.pod("p1").stored.rotate();
  print(world, 9, 9);
  const [gap, next] = await take(followed, 2);
  expect(gap).toMatchObject({
    stream: "system",
    message: "3 records are missing here: the node removed them before they were read",
  });
  expect(next).toMatchObject({ stream: "stdout", message: "line 9" });
  await followed.leave();
  // A connection that broke is made good as far as that can be: what is left comes, and a word of what does not.
  const again = await world.follow("a", { cursor: gap?.cursor ?? "" });
  expect(messages(await take(again, 2))).toEqual([
    "3 records are missing here: the node removed them before they were read",
    "line 9",
  ]);
  end(world, 10);
  world.run("a", world.on("p1", { phase: "Succeeded", completionTime: timestamp(world.pod("p1").stored.nowMs) }));
  expect(await again.rest()).toEqual([]);
  // Who asks for a page after a cursor that is older than the file is told so at once.
  await expect(world.snapshot("a", { cursor: gap?.cursor ?? "" })).rejects.toMatchObject({
    code: 410,
    reason: "Expired",
  });
});

test("who comes back after everything was removed is told that nothing more is kept", async () => {
  const world = going();
  print(world, 1, 5);
  const followed = await world.follow("a", { cursor: "start" });
  const last = (await take(followed, 5)).at(-1);
  await followed.leave();
  print(world, 6, 8);
  const { stored } = world.pod("p1");
  end(world, 9);
  world.run("a", world.on("p1", { phase: "Succeeded", completionTime: timestamp(stored.nowMs) }));
  stored.pass(60_000);
  stored.rotate();
  world.pod("p1").print(world.line("other", 1, "what pushed it out"));
  const rest = await (await world.follow("a", { cursor: last?.cursor ?? "" })).rest();
  expect(messages(rest)).toEqual([expect.stringMatching(/^nothing more of attempt 1 is kept: /)]);
});

test("a snapshot whose beginning the node removed says so where fewer records are left than asked for", async () => {
  const world = going();
  print(world, 1, 20);
  world.pod("p1").stored.rotate();
  print(world, 21, 22);
  expect(messages((await world.snapshot("a")).items)).toEqual([
    "20 records are missing here: the node removed them before they were read",
    "line 21",
    "line 22",
  ]);
  expect(messages((await world.snapshot("a", { tailLines: "2" })).items)).toEqual(["line 21", "line 22"]);
});

test("a Run whose records the node removed is told, also where the log of an earlier life of the agent is older than the Run", async () => {
  const world = going();
  const { stored } = world.pod("p1");
  world.pod("p1").print(world.line("other", 1, "of an earlier life"));
  stored.restart();
  stored.pass(60_000);
  const completionTime = timestamp(stored.nowMs);
  world.run("a", world.on("p1", { phase: "Succeeded", completionTime }));
  end(world, 1);
  world.run("a", world.on("p1", { phase: "Succeeded", completionTime }));
  stored.pass(60_000);
  stored.rotate();
  world.pod("p1").print(world.line("other", 2, "what pushed it out"));
  expect(messages((await world.snapshot("a")).items)).toEqual([
    expect.stringMatching(/^nothing of attempt 1 is kept: the node has removed older records/),
  ]);
});

test("the stream ends when the Run has ended and its last words are read, however late they come", async () => {
  const world = going();
  const followed = await world.follow("a");
  print(world, 1, 1);
  world.run("a", world.on("p1", { phase: "Succeeded" }));
  expect(messages(await take(followed, 1))).toEqual(["line 1"]);
  const next = followed.next();
  print(world, 2, 2);
  expect((await next)?.message).toBe("line 2");
  world.pod("p1").print(world.line("a", 3, "", { stream: "system", last: true }));
  expect(await followed.next()).toBeUndefined();
});
