import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StatusError } from "#kube/transport.ts";
import { LogWorld, worldKinds } from "#test/support/log-world.ts";
import type { LogItem } from "./items.ts";

describe.each(worldKinds)("with logs in a %s", (kind) => {
  const messages = ({ items }: { items: readonly LogItem[] }) => items.map(({ message }) => message);

  /** A Run on Pod p1 that has printed so many lines among those of another Run. */
  function busy(lines: number): LogWorld {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    const pod = world.pod("p1");
    for (let n = 1; n <= lines; n++) {
      pod.print(world.line("other", n, "not yours"));
      pod.print(world.line("a", n, `line ${n}`));
    }
    return world;
  }

  test("a snapshot has the newest 100 records, oldest first, without those of other Runs", async () => {
    const { items } = await busy(150).snapshot("a");
    expect(items).toHaveLength(100);
    expect(items[0]).toEqual({
      attempt: 1,
      seq: 51,
      time: expect.stringMatching(/^2026-01-01T/),
      stream: "stdout",
      message: "line 51",
    });
    expect(items.at(-1)?.message).toBe("line 150");
  });

  const sizes: Record<string, { tailLines: string; want: number }> = {
    "tailLines chooses how many": { tailLines: "7", want: 7 },
    "more than 500 is served as 500": { tailLines: "100000", want: 500 },
    "more than there are is all of them": { tailLines: "499", want: 499 },
  };

  test.each(Object.entries(sizes))("%s", async (_, { tailLines, want }) => {
    const { items } = await busy(600).snapshot("a", { tailLines });
    expect(items).toHaveLength(want);
    expect(items.at(-1)?.message).toBe("line 600");
  });

  test("the cursor of a snapshot continues with what was printed since", async () => {
    const world = busy(3);
    const first = await world.snapshot("a");
    expect(await world.snapshot("a", { cursor: first.cursor })).toEqual({ items: [], cursor: first.cursor });
    world.pod("p1").print(world.line("other", 4, "not yours") + world.line("a", 4, "line 4"));
    const second = await world.snapshot("a", { cursor: first.cursor });
    expect(messages(second)).toEqual(["line 4"]);
    expect((await world.snapshot("a", { cursor: second.cursor })).items).toEqual([]);
  });

  test("with a cursor tailLines is ignored, whatever it says", async () => {
    const world = busy(3);
    expect(messages(await world.snapshot("a", { cursor: "start", tailLines: "0" }))).toHaveLength(3);
  });

  test("a body stays under 1 MiB: without a cursor the newest records are kept, with one the oldest, and pages have all", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    const long = "x".repeat(15_000);
    for (let n = 1; n <= 200; n++) world.pod("p1").print(world.line("a", n, `${n} ${long}`));
    const newest = await world.snapshot("a", { tailLines: "200" });
    expect(Buffer.byteLength(JSON.stringify(newest))).toBeLessThanOrEqual(1024 * 1024);
    expect(newest.items.length).toBeGreaterThan(60);
    expect(newest.items.at(-1)?.seq).toBe(200);

    const seqs: (number | undefined)[] = [];
    let pages = 0;
    for (let cursor = "start"; ; pages++) {
      const page = await world.snapshot("a", { cursor });
      expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThanOrEqual(1024 * 1024);
      if (page.items.length === 0) break;
      seqs.push(...page.items.map(({ seq }) => seq));
      cursor = page.cursor;
    }
    expect(pages).toBe(3);
    expect(seqs).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
  });

  test("a Run without a Pod has no items, and its cursor begins with the first record", async () => {
    const world = new LogWorld(kind);
    world.run("a");
    const { items, cursor } = await world.snapshot("a");
    expect(items).toEqual([]);
    world.run("a", world.on("p1"));
    world.pod("p1").print(world.line("a", 1, "first"));
    expect(messages(await world.snapshot("a", { cursor }))).toEqual(["first"]);
  });

  test("attempts come in order over the Pods that they ran on, and one of them can be chosen", async () => {
    const world = new LogWorld(kind);
    const attempts = [
      { number: 1, pod: "p1" },
      { number: 2, pod: "p2" },
    ];
    world.run("a", world.on("p1", { attempt: 3, attempts, phase: "Succeeded" }));
    world.pod("p1").print(world.line("a", 1, "one") + world.line("a", 1, "three", { attempt: 3 }));
    world.pod("p2").print(world.line("a", 1, "two", { attempt: 2 }));
    expect(messages(await world.snapshot("a"))).toEqual(["one", "two", "three"]);
    expect(messages(await world.snapshot("a", { tailLines: "2" }))).toEqual(["two", "three"]);
    expect(messages(await world.snapshot("a", { cursor: "start" }))).toEqual(["one", "two", "three"]);
    for (const [attempt, want] of [
      ["1", "one"],
      ["2", "two"],
      ["3", "three"],
    ] as const) {
      expect(messages(await world.snapshot("a", { attempt }))).toEqual([want]);
      expect(messages(await world.snapshot("a", { attempt, cursor: "start" }))).toEqual([want]);
    }
    expect((await world.snapshot("a", { attempt: "4" })).items).toEqual([]);
  });

  test("of an earlier attempt whose Pod is gone the log says so, and the rest is served", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p2", { attempt: 2, attempts: [{ number: 1, pod: "p1" }] }));
    world.pod("p2").print(world.line("a", 1, "two", { attempt: 2 }));
    for (const query of [{}, { cursor: "start" }]) {
      const { items } = await world.snapshot("a", query);
      expect(items).toEqual([
        { attempt: 1, time: expect.any(String), stream: "system", message: "the log of attempt 1 is gone with Pod p1" },
        expect.objectContaining({ message: "two" }),
      ]);
    }
  });

  test("sinceTime leaves older records out", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    for (let n = 1; n <= 3; n++) {
      world.pod("p1").print(world.line("a", n, `at ${n}`, { time: `2026-01-01T00:00:0${n}.000000Z` }));
    }
    const sinceTime = "2026-01-01T00:00:02Z";
    expect(messages(await world.snapshot("a", { sinceTime }))).toEqual(["at 2", "at 3"]);
    expect(messages(await world.snapshot("a", { sinceTime, cursor: "start" }))).toEqual(["at 2", "at 3"]);
    const late = await world.snapshot("a", { sinceTime: "2027-01-01T00:00:00Z" });
    expect(late.items).toEqual([]);
    world.pod("p1").print(world.line("a", 4, "new"));
    expect(messages(await world.snapshot("a", { cursor: late.cursor }))).toEqual(["new"]);
  });

  test("records that are missing are told where they are missing", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    for (const seq of [1, 2, 5, 6]) world.pod("p1").print(world.line("a", seq, `line ${seq}`));
    const gap = "2 records are missing here: the node removed them before they were read";
    expect(messages(await world.snapshot("a"))).toEqual(["line 1", "line 2", gap, "line 5", "line 6"]);
    expect(messages(await world.snapshot("a", { cursor: "start" }))).toEqual([
      "line 1",
      "line 2",
      gap,
      "line 5",
      "line 6",
    ]);
    expect(messages(await world.snapshot("a", { tailLines: "2" }))).toEqual(["line 5", "line 6"]);
  });

  test("a Run of which nothing is kept is told from one that printed nothing", async () => {
    const world = new LogWorld(kind);
    const ended = { phase: "Succeeded" as const, startTime: "2020-01-01T00:00:00Z" };
    world.run("a", world.on("p1", { ...ended, completionTime: "2020-01-01T00:00:01Z" }));
    world.run("quiet", world.on("p1", { ...ended, completionTime: "2100-01-01T00:00:00Z" }));
    expect((await world.snapshot("a")).items).toEqual([]);
    world.pod("p1").replace(world.line("b", 1, "of another Run"));
    for (const query of [{}, { cursor: "start" }]) {
      const { items, cursor } = await world.snapshot("a", query);
      const message = expect.stringMatching(
        /^nothing of attempt 1 is kept: the node has removed older records, and the log of Pod p1 begins at 20\d\d-.*Z$/,
      );
      expect(items).toEqual([{ attempt: 1, time: expect.any(String), stream: "system", message }]);
      expect((await world.snapshot("a", { cursor })).items).toEqual([]);
      expect((await world.snapshot("quiet", query)).items).toEqual([]);
    }
    const followed = await (await world.follow("a", { cursor: "start" })).rest();
    expect(followed.map(({ stream }) => stream)).toEqual(["system"]);
  });

  test("bytes that are no text, and lines that go on, are handed on as they are", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    world.pod("p1").print(world.line("a", 1, "AP8=", { encoding: "base64", partial: true, stream: "stderr" }));
    const { items } = await world.snapshot("a");
    expect(items).toEqual([
      expect.objectContaining({ stream: "stderr", message: "AP8=", encoding: "base64", partial: true }),
    ]);
  });

  const refusals: Record<
    string,
    { act: (world: LogWorld) => Promise<unknown>; code: number; reason: string; says: string }
  > = {
    "a Run that does not exist": { act: (w) => w.snapshot("x"), code: 404, reason: "NotFound", says: '"x" not found' },
    "a Pod that is gone": {
      act: (w) => {
        w.deletePod("p1");
        return w.snapshot("a");
      },
      code: 409,
      reason: "Conflict",
      says: "Pod p1 does not exist any more",
    },
    "a Pod that is gone, after the Run's end": {
      act: (w) => {
        w.run("a", w.on("p1", { phase: "Succeeded" }));
        w.deletePod("p1");
        return w.snapshot("a", { cursor: "start" });
      },
      code: 409,
      reason: "Conflict",
      says: "Pod p1 does not exist any more",
    },
    "another Pod of the same name": {
      act: (w) => {
        w.run("a", w.on("p1", { assignedPodUID: "another" }));
        return w.snapshot("a");
      },
      code: 409,
      reason: "Conflict",
      says: "Pod p1 does not exist any more",
    },
    "a chosen attempt whose Pod is gone": {
      act: (w) => {
        w.run("a", w.on("p1", { attempt: 2, attempts: [{ number: 1, pod: "p0" }] }));
        return w.snapshot("a", { attempt: "1" });
      },
      code: 409,
      reason: "Conflict",
      says: "Pod p0 does not exist any more",
    },
    "a node that does not answer": {
      act: (w) => {
        w.unavailable = true;
        return w.snapshot("a");
      },
      code: 503,
      reason: "ServiceUnavailable",
      says: "the node does not answer",
    },
    "a cursor that is none": {
      act: (w) => w.snapshot("a", { cursor: "x" }),
      code: 400,
      reason: "BadRequest",
      says: "cursor",
    },
    "a cursor of an earlier Run of the name": {
      act: async (w) => {
        const { cursor } = await w.snapshot("a");
        w.run("a", w.on("p1"), "run-second");
        return w.snapshot("a", { cursor });
      },
      code: 410,
      reason: "Expired",
      says: "another Run that had this name; ask again without a cursor",
    },
    "a cursor older than the file": {
      act: async (w) => {
        const { cursor } = await w.snapshot("a");
        w.pod("p1").replace(w.line("a", 9, "new file"));
        return w.snapshot("a", { cursor });
      },
      code: 410,
      reason: "Expired",
      says: "does not go back to the cursor any more; ask again without a cursor",
    },
  };

  test.each(Object.entries(refusals))("refused: %s", async (_, { act, code, reason, says }) => {
    const error = (await act(busy(3)).then(
      () => expect.unreachable("it is not refused"),
      (thrown: unknown) => thrown,
    )) as StatusError;
    expect(error).toMatchObject({ name: "StatusError", status: { kind: "Status", status: "Failure", code, reason } });
    expect(error.message).toContain(says);
  });

  test("more snapshots at a time than the limit are told to come again", async () => {
    const world = new LogWorld(kind, { followers: 1, snapshots: 1 });
    world.run("a");
    const [first, second] = await Promise.allSettled([world.snapshot("a"), world.snapshot("a")]);
    expect(first.status).toBe("fulfilled");
    expect(second).toMatchObject({ status: "rejected", reason: { code: 429, retryAfterMs: 1000 } });
    await expect(world.snapshot("a")).resolves.toBeDefined();
  });

  test("a forged cursor never shows a record of another Run", async () => {
    const world = busy(20);
    const { length } = world.pod("p1").bytes;
    const { cursor } = await world.snapshot("a");
    const head = cursor.slice(0, cursor.lastIndexOf("-") + 1);
    await fc.assert(
      fc.asyncProperty(fc.nat(length + 10), async (offset) => {
        try {
          const { items } = await world.snapshot("a", { cursor: `${head}${offset}` });
          expect(messages({ items }).filter((message) => !/^line |missing/.test(message))).toEqual([]);
        } catch (error) {
          expect(error).toMatchObject({ code: 410 });
        }
      }),
      { numRuns: 300 },
    );
  });

  test("nothing stays open after snapshots, also after those that fail", async () => {
    const world = busy(10);
    await world.snapshot("a");
    await world.snapshot("a", { cursor: "start" });
    await world.snapshot("a", { cursor: "bad" }).catch(() => {});
    world.pod("p1").replace("");
    await world.snapshot("a", { cursor: (await busy(10).snapshot("a")).cursor }).catch(() => {});
    await expect.poll(() => world.pod("p1").open).toBe(0);
    expect(world.pod("p1").listeners.size).toBe(0);
  });
});
