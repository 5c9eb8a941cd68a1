/** How effects that do not depend on each other run side by side. */
export interface Lanes<Effect> {
  /** Effects of one lane run in order, and an effect that fails keeps back only those behind it in its lane. */
  laneOf(effect: Effect): string;
  /** Lanes at a time. */
  readonly limit: number;
}

/**
 * Runs all effects, lane by lane, at most `limit` lanes at a time, in the order in which the lanes first appear. Lanes that fail do
 * not hold up the others.
 *
 * @param run may look at a signal of its own and throw to end its lane
 * @throws the first error, once no lane runs any more; an AggregateError when lanes failed in different ways
 */
export async function runLanes<Effect>(
  effects: readonly Effect[],
  { laneOf, limit }: Lanes<Effect>,
  run: (effect: Effect) => Promise<void>,
): Promise<void> {
  const lanes = [...Map.groupBy(effects, laneOf).values()];
  const errors: unknown[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let lane = lanes[next++]; lane !== undefined; lane = lanes[next++]) {
      try {
        for (const effect of lane) await run(effect);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, lanes.length) }, work));
  const [first] = errors;
  if (errors.every((error) => String(error) === String(first))) {
    if (errors.length > 0) throw first;
    return;
  }
  throw new AggregateError(errors, `${errors.length} effects failed, the first one: ${String(first)}`);
}
