/**
 * What must hold after every move, written down from the design and not from the charts: phases, writers and fields
 * are named here once more on purpose, so that a changed chart is caught by an unchanged oracle.
 */

/** A status as JSON; `phase` is the state. */
export interface Status {
  readonly phase: string;
  readonly [field: string]: unknown;
}

export interface Move {
  readonly before: Status;
  readonly event: { readonly type: string };
  readonly after: Status;
  /** Types of the effects, in order. */
  readonly effects: readonly string[];
}

/** Whether an event does something to a status: always, or when this holds. */
export type Heed = true | ((before: Status, event: { readonly type: string }) => boolean);

export interface Oracle {
  /** Phases that nothing leaves. */
  readonly terminal: readonly string[];
  /** By phase, the events that are not ignored there. Everything else changes nothing and has no effect. */
  readonly heeds: Readonly<Record<string, Readonly<Record<string, Heed>>>>;
  /** Where a change by this event may end; `stays` is the phase before. A function where that depends on more. */
  readonly leadsTo: Readonly<Record<string, readonly string[] | ((move: Move) => readonly string[])>>;
  /** Who may make this move, whatever the chart says. */
  writersOf(move: Move): readonly string[];
  /** What is wrong with it, as sentences; empty when all is well. */
  check(move: Move): readonly string[];
}

/** What is wrong with where the move ended. */
export function wrongEnd({ leadsTo }: Oracle, move: Move): string[] {
  const { before, event, after } = move;
  const known = leadsTo[event.type] ?? [];
  const ends = typeof known === "function" ? known(move) : known;
  if (ends.includes(after.phase) || (ends.includes("stays") && before.phase === after.phase)) return [];
  return [`${event.type} in ${before.phase} must not lead to ${after.phase}`];
}

/** Whether the event must be taken in that status, whatever the chart says. */
export function mustTake({ heeds }: Oracle, before: Status, event: { readonly type: string }): boolean {
  const heed = heeds[before.phase]?.[event.type];
  return typeof heed === "function" ? heed(before, event) : heed === true;
}

/** Events that are always heeded. */
export function always(...events: readonly string[]): Readonly<Record<string, true>> {
  return Object.fromEntries(events.map((event) => [event, true as const]));
}

/** Whether a stored message says what a new one would: long ones are cut off. */
export function saysSame(stored: unknown, message: unknown): boolean {
  if (stored === message) return true;
  if (typeof stored !== "string" || typeof message !== "string" || message.length <= 4096) return false;
  return stored.endsWith("…") && message.startsWith(stored.slice(0, -1));
}

/** A field of an event that not all events have. */
export function field(event: { readonly type: string }, name: string): unknown {
  return (event as unknown as Readonly<Record<string, unknown>>)[name];
}

/** Collects the sentences whose claim does not hold. */
export function claims(list: Readonly<Record<string, boolean>>): string[] {
  return Object.entries(list)
    .filter(([, holds]) => !holds)
    .map(([sentence]) => sentence);
}

export const number = (value: unknown): number => (typeof value === "number" ? value : 0);
export const has = (status: Status, field: string): boolean => status[field] !== undefined;

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

export function condition(status: Status, type: string): Condition | undefined {
  return ((status.conditions ?? []) as readonly Condition[]).find((each) => each.type === type);
}

/** Claims about any status with phases, attempts and times. */
export function common(
  oracle: Pick<Oracle, "terminal">,
  { before, after }: Move,
  /** Fields that also change after the end. */
  restless: readonly string[] = [],
  /** The move begins another attempt: with it alone the end is left. */
  reopens = false,
): Record<string, boolean> {
  const lasting = (status: Status) =>
    JSON.stringify(status, (key, value) => (restless.includes(key) ? undefined : value));
  const isEnd = oracle.terminal.includes(after.phase);
  const wasEnd = oracle.terminal.includes(before.phase);
  const types = ((after.conditions ?? []) as readonly Condition[]).map((each) => each.type);
  return {
    "nothing leaves a terminal phase, but for another attempt": !wasEnd || reopens || before.phase === after.phase,
    "another attempt has the next number": !reopens || number(after.attempt) === number(before.attempt ?? 1) + 1,
    "a terminal status does not change": !wasEnd || reopens || lasting(before) === lasting(after),
    "attempt never falls": number(after.attempt) >= number(before.attempt),
    "completionTime exactly at an end": has(after, "completionTime") === isEnd,
    "a condition type stands once": new Set(types).size === types.length,
    "a condition keeps its time as long as its status": types.every((type) => {
      const [old, now] = [condition(before, type), condition(after, type)];
      return old?.status !== now?.status || old?.lastTransitionTime === now?.lastTransitionTime;
    }),
    "a message fits its field": String(after.message ?? "").length <= 4096,
  };
}

/** Claims about a status that generic wait tools read. */
export function finished(oracle: Pick<Oracle, "terminal">, { after }: Move, success: string): Record<string, boolean> {
  const isEnd = oracle.terminal.includes(after.phase);
  const succeeded = condition(after, "Succeeded");
  return {
    "Finished=True exactly at an end": (condition(after, "Finished")?.status === "True") === isEnd,
    "Succeeded stands exactly at an end": (succeeded !== undefined) === isEnd,
    "Succeeded says how it ended": !isEnd || (succeeded?.status === "True") === (after.phase === success),
    "an end without success has a reason and a message":
      !isEnd || after.phase === success || (has(after, "reason") && has(after, "message")),
    "the reason is the reason of the condition": !isEnd || !has(after, "reason") || succeeded?.reason === after.reason,
  };
}

/** Whatever ends tells what it wrote, however it ended; nothing else changes outputs, but another attempt, which has none. */
export function tellsOutputs({ before, after, event }: Move): boolean {
  const isEnd = before.phase !== after.phase && ["Succeeded", "Failed", "Cancelled"].includes(after.phase);
  const same = (one: unknown, other: unknown) => JSON.stringify(one ?? {}) === JSON.stringify(other ?? {});
  return isEnd
    ? same(after.outputs, field(event, "outputs"))
    : !has(after, "outputs") || same(after.outputs, before.outputs);
}
