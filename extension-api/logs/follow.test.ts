import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Followed, LogWorld, worldKinds } from "#test/support/log-world.ts";
import type { LogItem } from "./items.ts";

describe.each(worldKinds)("with logs in a %s", (kind) => {
  const messages = (items: readonly LogItem[]) => items.map(({ message }) => message);

  /** Lets everything happen that can happen without a further event. */
  async function quiet(): Promise<void> {
    for (let n = 0; n < 10; n++) await turn();
  }

  /** Whether the next item is not there yet; the item comes with the promise. */
  async function isWaiting(next: Promise<unknown>): Promise<boolean> {
    let done = false;
    next.then(
      () => {
        done = true;
      },
      () => {
        done = true;
      },
    );
    await quiet();
    return !done;
  }

  test("a Run without a Pod is waited for; then every record comes as it is printed, to the Run's end", async () => {
    const world = new LogWorld(kind);
    world.run("a");
    const followed = await world.follow("a");
    let next = followed.next();
    expect(await isWaiting(next)).toBe(true);

    world.run("a", world.on("p1", { phase: "Scheduled", attempt: 0 }));
    expect(await isWaiting(next)).toBe(true);
    world.run("a", world.on("p1"));
    world.pod("p1").print(world.line("a", 1, "one"));
    expect(await next).toMatchObject({ message: "one", seq: 1, cursor: expect.any(String) });

    next = followed.next();
    world.pod("p1").print(world.line("other", 1, "not yours"));
    expect(await isWaiting(next)).toBe(true);
    world.pod("p1").print(world.line("a", 2, "two"));
    expect(await next).toMatchObject({ message: "two" });

    next = followed.next();
    expect(await isWaiting(next)).toBe(true);
    world.pod("p1").print(world.line("a", 3, "three"));
    world.run("a", world.on("p1", { phase: "Succeeded" }));
    expect(await next).toMatchObject({ message: "three" });
    expect(await followed.next()).toBeUndefined();
  });

  test("a Run that has ended is read to its end and not waited for", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1", { phase: "Failed" }));
    for (let n = 1; n <= 3; n++) world.pod("p1").print(world.line("a", n, `line ${n}`));
    expect(messages(await (await world.follow("a", { tailLines: "2" })).rest())).toEqual(["line 2", "line 3"]);
  });

  test("a Run that was cancelled before it had a Pod has an empty log that ends", async () => {
    const world = new LogWorld(kind);
    world.run("a", { phase: "Cancelled" });
    expect(await (await world.follow("a")).rest()).toEqual([]);
  });

  test("the next attempt is followed to its Pod, and back", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    const followed = await world.follow("a");
    const all = followed.rest();
    world.pod("p1").print(world.line("a", 1, "one"));
    await quiet();
    const first = { number: 1, pod: "p1" };
    world.run("a", { phase: "Pending", attempt: 1, attempts: [first] });
    await quiet();
    world.run("a", world.on("p2", { phase: "Scheduled", attempt: 1, attempts: [first] }));
    world.run("a", world.on("p2", { attempt: 2, attempts: [first] }));
    world.pod("p2").print(world.line("a", 1, "two", { attempt: 2 }));
    await quiet();
    const both = [first, { number: 2, pod: "p2" }];
    world.pod("p1").print(world.line("a", 1, "three", { attempt: 3 }));
    world.run("a", world.on("p1", { attempt: 3, attempts: both, phase: "Succeeded" }));
    expect(messages(await all)).toEqual(["one", "two", "three"]);
  });

  const moments: Record<string, boolean> = {
    "an attempt that the status does not tell yet is not read before the attempts between": false,
    "neither is one that was printed before anybody followed": true,
  };

  test.each(Object.entries(moments))("%s", async (_, isPrintedBefore) => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    // Attempt 2 was on p2, and attempt 3 has begun on p1 again; the news of both is still on its way.
    const print = () => {
      world.pod("p1").print(world.line("a", 1, "one") + world.line("a", 1, "three", { attempt: 3 }));
      world.pod("p2").print(world.line("a", 1, "two", { attempt: 2 }));
    };
    if (isPrintedBefore) print();
    const followed = await world.follow("a");
    if (!isPrintedBefore) print();
    expect(await followed.next()).toMatchObject({ message: "one" });
    const next = followed.next();
    expect(await isWaiting(next)).toBe(true);
    const attempts = [
      { number: 1, pod: "p1" },
      { number: 2, pod: "p2" },
    ];
    world.run("a", world.on("p1", { attempt: 3, attempts, phase: "Succeeded" }));
    expect(await next).toMatchObject({ message: "two" });
    expect(messages(await followed.rest())).toEqual(["three"]);
  });

  test.each(["0", "1"])(
    "a next attempt on the same Pod that the status does not tell yet is not passed over (%s printed before)",
    async (before) => {
      const world = new LogWorld(kind);
      world.run("a", world.on("p1"));
      const printed = [world.line("a", 1, "one"), world.line("a", 1, "two", { attempt: 2 })].join("");
      if (before === "1") world.pod("p1").print(printed);
      const followed = await world.follow("a");
      if (before === "0") world.pod("p1").print(printed);
      expect(await followed.next()).toMatchObject({ message: "one" });
      const next = followed.next();
      expect(await isWaiting(next)).toBe(true);
      world.run("a", world.on("p1", { attempt: 2, attempts: [{ number: 1, pod: "p1" }], phase: "Succeeded" }));
      expect(await next).toMatchObject({ message: "two" });
      expect(await followed.next()).toBeUndefined();
    },
  );

  test("a Run that is handed back before its attempt began is read on its next Pod from the beginning", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1", { phase: "Scheduled", attempt: 0 }));
    const all = (await world.follow("a")).rest();
    await quiet();
    world.run("a", { phase: "Pending" });
    await quiet();
    world.pod("p2").print(world.line("a", 1, "one"));
    world.run("a", world.on("p2", { phase: "Succeeded" }));
    expect(messages(await all)).toEqual(["one"]);
  });

  test("one attempt is followed to its own end", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    const all = (await world.follow("a", { attempt: "1" })).rest();
    world.pod("p1").print(world.line("a", 1, "one"));
    await quiet();
    world.pod("p1").print(world.line("a", 1, "two", { attempt: 2 }));
    world.run("a", world.on("p1", { attempt: 2, attempts: [{ number: 1, pod: "p1" }] }));
    expect(messages(await all)).toEqual(["one"]);
  });

  test("an attempt that is still to come is waited for", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    const all = (await world.follow("a", { attempt: "2" })).rest();
    world.pod("p1").print(world.line("a", 1, "one"));
    await quiet();
    world.pod("p1").print(world.line("a", 1, "two", { attempt: 2 }));
    world.run("a", world.on("p1", { attempt: 2, attempts: [{ number: 1, pod: "p1" }], phase: "Succeeded" }));
    expect(messages(await all)).toEqual(["two"]);
  });

  test("what was printed before a Pod went is read, and the Run says what comes after", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    const followed = await world.follow("a");
    world.pod("p1").print(world.line("a", 1, "last words"));
    world.deletePod("p1");
    expect(await followed.next()).toMatchObject({ message: "last words" });
    const next = followed.next();
    expect(await isWaiting(next)).toBe(true);
    world.run("a", world.on("p2", { attempt: 2, attempts: [{ number: 1, pod: "p1" }], phase: "Succeeded" }));
    world.pod("p2").print(world.line("a", 1, "two", { attempt: 2 }));
    expect(await next).toMatchObject({ message: "two" });
    expect(await followed.next()).toBeUndefined();
  });

  test("a Pod that went before its log was opened is waited out while the Run is on it", async () => {
    const world = new LogWorld(kind);
    world.run("a");
    const followed = await world.follow("a");
    const next = followed.next();
    const status = world.on("p1");
    world.deletePod("p1");
    world.run("a", status);
    expect(await isWaiting(next)).toBe(true);
    world.run("a", { ...status, phase: "Failed" });
    expect(await next).toMatchObject({
      stream: "system",
      message: "the log ends here: Pod p1 does not exist any more, and its log went with it",
      status: { code: 409, reason: "Conflict" },
      cursor: expect.any(String),
    });
    expect(await followed.next()).toBeUndefined();
  });

  test("a Run that is deleted ends its log with a word", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    const followed = await world.follow("a");
    world.pod("p1").print(world.line("a", 1, "one"));
    world.deleteRun("a");
    expect(await followed.rest()).toEqual([
      expect.objectContaining({ message: "one" }),
      expect.objectContaining({ stream: "system", status: expect.objectContaining({ code: 404, reason: "NotFound" }) }),
    ]);
  });

  test("another Run of the same name is not the one that is followed", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    const all = (await world.follow("a")).rest();
    world.run("a", world.on("p1"), "run-second");
    expect((await all).map(({ status }) => status?.code)).toEqual([404]);
  });

  test("a failure after the headers is the last record, with the Status and a cursor to go on from", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    const followed = await world.follow("a");
    world.pod("p1").print(world.line("a", 1, "one"));
    expect(await followed.next()).toMatchObject({ message: "one" });
    world.unavailable = true;
    world.run("a", world.on("p2", { attempt: 2, attempts: [{ number: 1, pod: "p1" }] }));
    const last = await followed.next();
    expect(last).toMatchObject({ stream: "system", status: { code: 503, reason: "ServiceUnavailable" } });
    expect(await followed.next()).toBeUndefined();

    world.unavailable = false;
    world.pod("p2").print(world.line("a", 1, "two", { attempt: 2 }));
    const again = await world.follow("a", { cursor: last?.cursor ?? "" });
    expect(await again.next()).toMatchObject({ message: "two" });
    await again.leave();
  });

  const early: Record<string, { prepare: (world: LogWorld) => void; query?: Record<string, string>; code: number }> = {
    "no such Run": { prepare: (world) => world.deleteRun("a"), code: 404 },
    "the Pod is gone": { prepare: (world) => world.deletePod("p1"), code: 409 },
    "the log cannot be opened": {
      prepare: (world) => {
        world.unavailable = true;
      },
      code: 503,
    },
    "the cursor is none": { prepare: () => {}, query: { cursor: "0" }, code: 400 },
  };

  test.each(Object.entries(early))(
    "before anything is sent it fails when %s",
    async (_, { prepare, query = {}, code }) => {
      const world = new LogWorld(kind, { followers: 1, snapshots: 1 });
      world.run("a", world.on("p1"));
      prepare(world);
      await expect(world.follow("a", query)).rejects.toMatchObject({ name: "StatusError", code });
      // Its seat is free again, and nothing is left open.
      await expect(world.follow("a", query)).rejects.toMatchObject({ code });
      expect(world.pods.get("p1")?.open ?? 0).toBe(0);
    },
  );

  test("streams have seats, which are free again when they end or are left, also before they were read", async () => {
    const world = new LogWorld(kind, { followers: 2, snapshots: 1 });
    world.run("a", world.on("p1"));
    world.run("b", world.on("p1", { phase: "Succeeded" }));
    const first = await world.follow("a");
    const second = await world.follow("a");
    await expect(world.follow("a")).rejects.toMatchObject({ code: 429, retryAfterMs: 1000 });
    await first.leave();
    await (await world.follow("b")).rest();
    const waiting = second.next();
    await quiet();
    await second.leave();
    expect(await waiting).toBeUndefined();
    const all = await Promise.all([world.follow("a"), world.follow("a")]);
    await Promise.all(all.map((one) => one.leave()));
    const left = () => ({
      open: world.pod("p1").open,
      listeners: world.pod("p1").listeners.size,
      observers: world.observers,
    });
    await expect.poll(left).toEqual({ open: 0, listeners: 0, observers: 0 });
  });

  test("an agent that was started again counts anew, and nothing is missing", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1", { phase: "Succeeded" }));
    for (const seq of [1, 2, 3, 1, 2]) world.pod("p1").print(world.line("a", seq, `${seq}`));
    expect(messages(await (await world.follow("a", { cursor: "start" })).rest())).toEqual(["1", "2", "3", "1", "2"]);
  });

  test("from every cursor that was given out, the rest follows without a gap and without a repetition", async () => {
    const step = fc.constantFrom("own", "own", "foreign", "half", "retry", "leave");
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const world = new LogWorld(kind);
        world.run("a", world.on("p1"));
        const printed: string[] = [];
        const got: string[] = [];
        let cursor: string | undefined;
        let followed: Followed = await world.follow("a");
        let attempt = 1;
        let seq = 0;
        let half = "";
        const attempts: { number: number; pod: string }[] = [];
        const pod = () => `p${1 + (attempt % 2)}`;
        world.run("a", world.on(pod()));
        const take = async (upTo: number) => {
          while (got.length < upTo) {
            const item = await followed.next();
            if (item === undefined) throw new Error("the stream ended early");
            got.push(item.message);
            cursor = item.cursor;
          }
        };
        for (const [n, what] of steps.entries()) {
          if (what === "own") {
            seq++;
            printed.push(`${attempt}.${seq}`);
            world.pod(pod()).print(`${half}${world.line("a", seq, `${attempt}.${seq}`, { attempt })}`);
            half = "";
          } else if (what === "foreign") {
            world.pod(pod()).print(half + world.line("other", n + 1, "x"));
            half = "";
          } else if (what === "half" && half === "") {
            // The first half of a line is in the file before the second.
            const line = world.line("other", n + 1, "split");
            world.pod(pod()).print(line.slice(0, 30));
            half = line.slice(30);
          } else if (what === "retry") {
            world.pod(pod()).print(half);
            half = "";
            attempts.push({ number: attempt, pod: pod() });
            attempt++;
            seq = 0;
            world.run("a", world.on(pod(), { attempt, attempts: [...attempts] }));
          } else if (what === "leave") {
            await take(Math.floor((got.length + printed.length) / 2));
            await followed.leave();
            followed = await world.follow("a", cursor === undefined ? { cursor: "start" } : { cursor });
          }
        }
        world.pod(pod()).print(half);
        world.run("a", world.on(pod(), { attempt, attempts, phase: "Succeeded" }));
        got.push(...messages(await followed.rest()));
        expect(got).toEqual(printed);
      }),
      { numRuns: kind === "file" ? 300 : 100 },
    );
  });
});
