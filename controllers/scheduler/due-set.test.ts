import fc from "fast-check";
import { expect, test } from "vitest";
import { DueSet } from "./due-set.ts";

test("keys come out when their latest due time has come, the earliest first", () => {
  const key = fc.constantFrom("a", "b", "c", "d");
  const step = fc.oneof(
    fc.record({ kind: fc.constant("set" as const), key, due: fc.integer({ min: 0, max: 20 }) }),
    fc.record({ kind: fc.constant("delete" as const), key }),
    fc.record({ kind: fc.constant("take" as const), now: fc.integer({ min: 0, max: 20 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const set = new DueSet();
      const model = new Map<string, number>();
      for (const one of steps) {
        const first = Math.min(...model.values());
        if (one.kind === "set") {
          set.set(one.key, one.due);
          model.set(one.key, one.due);
        } else if (one.kind === "delete") {
          set.delete(one.key);
          model.delete(one.key);
        } else {
          const taken = set.take(one.now);
          if (taken === undefined) expect(first).toBeGreaterThan(one.now);
          else {
            expect(model.get(taken)).toBe(first);
            model.delete(taken);
          }
        }
        expect(set.size).toBe(model.size);
        expect(set.next()).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
      }
    }),
  );
});
