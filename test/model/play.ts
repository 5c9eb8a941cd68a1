import { stableJson } from "#api/json.ts";
import type { ArrangedPath, ArrangedStep } from "./arranged-paths.ts";
import type { AnyArrangements, Stage } from "./arrangements/arranged.ts";
import { type Recorded, Recorder } from "./arrangements/recorder.ts";
import type { modelled } from "./models.ts";
import { drawnTransition, type Replay } from "./replay.ts";

type Modelled = (typeof modelled)[number];

/** How long an event may take to come, in virtual milliseconds. */
const patienceMs = 600_000;

/**
 * Plays one path with the real components: arranges event by event and waits for the component to fire it. The moves
 * that the chart makes must be those of the path, in its order and no others; the subject in the API server must be
 * where the path ends.
 *
 * @returns every event that a component sent to any chart on the way
 */
export async function play(
  of: Modelled,
  arrangements: AnyArrangements,
  path: ArrangedPath,
  limitMs = patienceMs,
): Promise<readonly Recorded[]> {
  const recorder = new Recorder();
  let stage: Stage | undefined;
  try {
    stage = await path.scene.build();
    const begin = recorder.records.length;
    let cursor = begin;
    for (const each of path.steps) {
      await arrangements.perform(stage, each.event);
      const find = () => recorder.records.findIndex((record, index) => index >= cursor && isStep(of, each, record));
      try {
        await stage.until(() => find() >= 0, limitMs);
      } catch (cause) {
        const found = new Set(recorder.records.slice(cursor).map((record) => tell(of, record)));
        throw new Error(`${tellStep(each)} did not happen; since then: ${[...found].join(", ")}`, { cause });
      }
      cursor = find() + 1;
    }
    await checkEnd(of, stage, path, recorder.records.slice(begin));
    return recorder.records.slice(begin);
  } finally {
    await stage?.stop();
    recorder.stop();
  }
}

function isStep(of: Modelled, { event, from, transition }: ArrangedStep, record: Recorded): boolean {
  if (record.chart !== of.name || record.event.type !== event.type || record.before.value !== from) return false;
  if (drawnTransition(of.machine, record.before, record.event)?.id !== transition?.id) return false;
  return wording(event) === wording(record.event);
}

/** What tells events of one type apart, as far as an arrangement can bring it about: the reason, the phases of members. */
function wording(event: object): string {
  const { reason, steps, jobs } = event as { reason?: string; steps?: readonly unknown[]; jobs?: object };
  const phases = (members: object) =>
    Object.fromEntries(Object.entries(members).map(([key, member]) => [key, member?.phase]));
  return stableJson([reason, steps && phases(steps), jobs && phases(jobs)]);
}

async function checkEnd(of: Modelled, stage: Stage, path: ArrangedPath, records: readonly Recorded[]): Promise<void> {
  const end = path.steps.at(-1);
  const expected = end?.transition?.to ?? end?.from;
  await stage.until(async () => ((await stage.state()) ?? expected) === expected, 0);
  const moves = records
    .filter(({ chart, before, after }) => chart === of.name && before.value !== after.value)
    .map(({ before, after }) => `${before.value} -> ${after.value}`);
  const wanted = path.steps.flatMap(({ transition }) =>
    transition?.moves ? [`${transition.from} -> ${transition.to}`] : [],
  );
  // Jobs and steps have neighbours, whose moves are recorded too.
  const extra = [...moves];
  for (const move of wanted) {
    const index = extra.indexOf(move);
    if (index < 0) throw new Error(`${move} is missing among ${moves.join(", ")}`);
    extra.splice(index, 1);
  }
  if (!path.scene.hasNeighbours && extra.length > 0) {
    throw new Error(`besides ${wanted.join(", ")} there was ${extra.join(", ")}`);
  }
}

/** Holds what the components did against the charts and their oracles; notes what was covered. */
export function judge(records: readonly Recorded[], replays: ReadonlyMap<string, Replay>): void {
  for (const { chart, before, event, after, effects } of records) {
    const replay = replays.get(chart);
    if (replay === undefined) throw new RangeError(`no replay of the ${chart} chart`);
    const again = replay.step(before, event);
    const was = stableJson([replay.statusOf(after), effects]);
    const is = stableJson([replay.statusOf(again), replay.lastEffects]);
    if (was !== is) throw new Error(`${chart}: ${JSON.stringify(event)} led to\n  ${was}\nand the chart says\n  ${is}`);
  }
}

function tell(of: Modelled, { chart, before, event }: Recorded): string {
  if (chart !== of.name) return `(${chart}: ${event.type})`;
  return drawnTransition(of.machine, before, event)?.id ?? `${before.value} ${event.type} refused`;
}

function tellStep({ event, from, transition }: ArrangedStep): string {
  return `${transition?.id ?? `${from} ${event.type} refused`} (${JSON.stringify(event)})`;
}
