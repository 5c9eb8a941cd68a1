import type { ChartModel } from "./describe.ts";
import { type Writer, writers } from "./meta.ts";
import { inOrder, reachable } from "./reach.ts";

/** For one writer: from each phase, the phases that it may write, in chart order; from = to is always among them. */
export type WriterMoves = Readonly<Record<string, readonly string[]>>;

/**
 * Which identity may make which move: what it can reach along its own edges alone. Writers without an edge in the
 * chart are left out. Reopening edges are not in it: they are judged by the exact edge and the raised attempt.
 */
export function movesByWriter(model: ChartModel): Readonly<Partial<Record<Writer, WriterMoves>>> {
  const found: Partial<Record<Writer, WriterMoves>> = {};
  for (const writer of writers) {
    if (!model.transitions.some((each) => each.writers.includes(writer))) continue;
    found[writer] = Object.fromEntries(
      model.states.map(({ name }) => {
        const mine = reachable(model, name, (each) => !each.reopens && each.writers.includes(writer));
        return [name, inOrder(model, mine)];
      }),
    );
  }
  return found;
}
