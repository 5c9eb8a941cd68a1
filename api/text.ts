/** Bound of `status.message` in the schemas, in characters. */
export const maxMessageLength = 4096;

/** Bound of the message of a condition. */
export const maxConditionMessageLength = 32768;

/** A message that fits its field: its beginning, with a mark when something was cut off. */
export function clip(message: string, length = maxMessageLength): string {
  if (message.length <= length) return message;
  // Not between the two halves of a surrogate pair: the API server refuses text that is no UTF-8.
  return `${message.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
