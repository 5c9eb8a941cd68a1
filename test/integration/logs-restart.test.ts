import { afterEach, expect, test } from "vitest";
import { encodeRecord } from "#api/log-record.ts";
import type { LogItem } from "#extension-api/logs/items.ts";
import { LogWorld } from "#test/support/log-world.ts";
import { AgentWorld } from "./support/agent-world.ts";

let world: AgentWorld | undefined;
afterEach(() => {
  world?.crash();
  world?.api.close();
});

const output = [
  { data: "one\ntwo\nthr" },
  { atMs: 5, stream: "stderr" as const, data: "warning\n" },
  { atMs: 10, data: "ee\nName: " },
  { atMs: 2000, data: "Ada\n" },
  { atMs: 2005, stream: "stderr" as const, data: "50%" },
  { atMs: 3500, stream: "stderr" as const, data: " 100%\n" },
  { atMs: 3510, data: "\nlast\n" },
];
const wanted = {
  stdout: output.flatMap(({ data, ...more }) => ("stream" in more ? [] : [data])).join(""),
  stderr: output.flatMap(({ data, ...more }) => ("stream" in more ? [data] : [])).join(""),
};

function textOf(items: readonly LogItem[], stream: LogItem["stream"]): string {
  return items
    .filter((item) => item.stream === stream)
    .map(({ message, partial }) => `${message}${partial ? "" : "\n"}`)
    .join("");
}
const texts = (items: readonly LogItem[]) => ({ stdout: textOf(items, "stdout"), stderr: textOf(items, "stderr") });

/** What agents print while one after the other is killed: before or after these of all their writes, counted from 1. */
async function printed(when: "before" | "after", kills: readonly number[]) {
  const made = new AgentWorld();
  world = made;
  made.programs.set("a", () => ({ durationMs: 4000, output }));
  await made.createRun("a");
  let writes = 0;
  let deaths = 0;
  made.watcher = (point, at) => {
    if (point !== "sink.write" || at !== when || !kills.includes(++writes)) return;
    deaths++;
    made.crash();
    made.clock.after(20, () => made.start());
  };
  await made.assign("a");
  made.start();
  expect(await made.untilOver("a")).toMatchObject({ phase: "Succeeded", attempt: 1 });
  const lines = made.sink.records.map((record) => encodeRecord({ ...record, run: "run-a" }));
  made.crash();
  made.api.close();
  return { lines, deaths };
}

/** All ways in which the log API gives the log. */
async function readings(lines: readonly string[]): Promise<Record<string, readonly LogItem[]>> {
  const logs = new LogWorld();
  logs.run("a", logs.on("p", { phase: "Succeeded" }));
  logs.pod("p").print(lines.join(""));
  const all = await (await logs.follow("a", { cursor: "start" })).rest();
  const found: Record<string, readonly LogItem[]> = {
    "from the start": all,
    "a snapshot": (await logs.snapshot("a")).items,
    "followed from the end": await (await logs.follow("a", { tailLines: "500" })).rest(),
  };
  for (const [index, { cursor = "" }] of all.entries()) {
    const rest = await (await logs.follow("a", { cursor })).rest();
    found[`broken off after record ${index + 1}`] = [...all.slice(0, index + 1), ...rest];
  }
  for (let count = 1; count < all.length; count++) {
    const { items, cursor } = await logs.snapshot("a", { tailLines: String(count) });
    expect((await logs.snapshot("a", { cursor })).items).toEqual([]);
    expect(textOf(all, "stdout").endsWith(textOf(items, "stdout"))).toBe(true);
    expect(textOf(all, "stderr").endsWith(textOf(items, "stderr"))).toBe(true);
  }
  return found;
}

test.each(["before", "after"] as const)(
  "agents that are killed %s they print: the log API gives every byte once",
  async (when) => {
    let deaths = 0;
    let records = 0;
    for (let first = 1; first <= 9; first++) {
      for (const kills of [[first], [first, first + 2], [first, first + 3, first + 5]]) {
        const { lines, ...result } = await printed(when, kills);
        deaths += result.deaths;
        records += lines.length;
        const reads = await readings(lines);
        for (const [how, items] of Object.entries(reads))
          expect([kills, how, texts(items)]).toEqual([kills, how, wanted]);
      }
    }
    console.log(`killed ${deaths} times ${when} a write; ${records} records`);
    expect(deaths).toBeGreaterThan(27);
  },
);
