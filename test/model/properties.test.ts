import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MalformedStatusError, UnknownPhaseError } from "#machines/lib/persist.ts";
import { clip } from "#machines/lib/text.ts";
import { modelled } from "./models.ts";
import { Replay } from "./replay.ts";
import { at } from "./samples/samples.ts";

interface Event {
  readonly type: string;
}

/** Any event of the chart: a sample, at any time, with any text, in a chart that may not expect it. */
function anyEvent(samples: Readonly<Record<string, readonly Event[]>>): fc.Arbitrary<Event> {
  return fc
    .record({
      sample: fc.constantFrom(...Object.values(samples).flat()),
      now: fc.double({ min: at(0), max: at(1_000_000), noNaN: true }),
      message: fc.oneof(fc.string(), fc.constant("🜁 too long ".repeat(500))),
    })
    .map(({ sample, now, message }) => ({
      ...sample,
      ...("now" in sample && { now }),
      ...("message" in sample && { message }),
    }));
}

describe.each(modelled)("$name", (each) => {
  const { walk, persistence } = each;
  const replay = new Replay(each);

  test("no sequence of events leaves the chart, throws or breaks an invariant", () => {
    fc.assert(
      fc.property(fc.array(anyEvent(walk.samples), { minLength: 5, maxLength: 30 }), (events) => {
        let snapshot = each.initial();
        for (const event of events) snapshot = replay.step(replay.throughStatus(snapshot), event);
      }),
      { numRuns: 150 },
    );
  });

  if (persistence === undefined) return;
  const { restore, toStatus } = persistence;

  test("what is restored is what was stored, for every status that a sequence of events leads to", () => {
    fc.assert(
      fc.property(fc.array(anyEvent(walk.samples), { maxLength: 20 }), (events) => {
        let snapshot = each.initial();
        for (const event of events) {
          snapshot = replay.step(snapshot, event);
          const stored: unknown = JSON.parse(JSON.stringify(toStatus(snapshot)));
          expect(toStatus(restore(stored))).toEqual(stored);
        }
      }),
      { numRuns: 50 },
    );
  });

  test("fields that the chart does not use survive it", () => {
    const phases = fc.constantFrom(...Object.keys(each.machine.states));
    const status = fc.record({ name: fc.constant("step"), phase: phases, observedGeneration: fc.nat() });
    fc.assert(
      fc.property(status, (stored) => {
        expect(toStatus(restore(stored))).toEqual(stored);
      }),
    );
  });

  test("any other value is refused with an error that says where", () => {
    const known = Object.keys(each.machine.states);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          fc.record({ phase: fc.string() }),
          fc.record({ phase: fc.constantFrom(...known), attempt: fc.anything(), conditions: fc.anything() }),
        ),
        (value) => {
          try {
            restore(value);
          } catch (error) {
            expect(error instanceof UnknownPhaseError || error instanceof MalformedStatusError).toBe(true);
            expect(String(error)).toContain(each.name);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

test("a clipped message fits its field and is never cut within a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 6000, size: "max" }), (message) => {
      const clipped = clip(message);
      expect(clipped.length).toBeLessThanOrEqual(4096);
      expect(clipped.isWellFormed()).toBe(true);
      expect(message.startsWith(clipped.replace(/…$/, ""))).toBe(true);
    }),
  );
});
