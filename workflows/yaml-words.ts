/** Words that YAML 1.1, which kubectl reads, takes for a truth value; as keys they need quotes. */
export const truthWords: ReadonlyMap<string, readonly string[]> = new Map([
  ["true", ["y", "yes", "on"]],
  ["false", ["n", "no", "off"]],
]);

/** Whether YAML 1.1 reads a word without quotes as a truth value. */
export const isTruthWord = (word: string): boolean => [...truthWords.values()].flat().includes(word.toLowerCase());

/**
 * Why a name that somebody has declared is not found: without quotes its key was read as a truth value.
 *
 * @param name that is looked for
 * @param declared names that are there
 * @returns a sentence; undefined when it has another cause
 */
export function quotesAdvice(name: string, declared: readonly string[]): string | undefined {
  for (const [key, words] of truthWords) {
    if (declared.includes(key) && words.includes(name.toLowerCase())) {
      return `YAML reads the key ${name} as ${key}: put quotes around it where it is declared.`;
    }
  }
  return undefined;
}
