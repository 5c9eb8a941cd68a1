/** Times of the contract are microseconds since the epoch; ours are milliseconds with a fraction. */

export function fromMicros(micros: number): number {
  return micros / 1000;
}

export function toMicros(ms: number): number {
  return Math.round(ms * 1000);
}
