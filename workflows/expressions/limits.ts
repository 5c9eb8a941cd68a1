/**
 * Bounds of expressions. They keep the work of one admission request and of one evaluation small whatever is written: all
 * numbers are far above what real workflows use.
 */
export const limits = {
  /** Characters of one expression; as long as the longest field that is a single expression. */
  expressionLength: 8192,
  /** Tokens of one expression; the parser recurses, so this also bounds its stack. */
  expressionTokens: 1000,
  /** Expressions in one field; each one of a script becomes an environment variable. */
  expressionsInField: 256,
  /** Expressions in one workflow. */
  expressionsInWorkflow: 8192,
  /** Characters of any value while evaluating; outputs have at most 8 KiB each and 64 KiB together. */
  valueLength: 1_048_576,
  /** Characters of the value of an environment variable of a Run (as in its schema). */
  variableLength: 32_768,
  /** Characters of all values that one script takes, so that the Run stays well below the size limit of objects. */
  variablesLength: 262_144,
} as const;
