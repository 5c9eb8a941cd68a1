/** Edits that may lie between a word and the one that was meant: a third of its letters, at least one of two, at most three. */
const allowance = (word: string) => Math.min(3, Math.max(word.length > 1 ? 1 : 0, Math.floor(word.length / 3)));

/** The candidate that was probably meant by a word that is none of them. Case does not count. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = allowance(word) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** `Did you mean X?`, or nothing when no candidate is near. */
export function suggestion(word: string, candidates: Iterable<string>): string | undefined {
  const meant = closest(word, candidates);
  return meant === undefined ? undefined : `Did you mean ${meant}?`;
}

/** Letters to insert, remove, change or swap with their neighbour (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  const width = b.length + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: width }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j < width; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) least = Math.min(least, (beforeLast[j - 2] ?? 0) + 1);
      row.push(least);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
