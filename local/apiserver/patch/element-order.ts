import { equalJson, isObject } from "../json.ts";
import type { MergeNode } from "./merge-keys.ts";

type ListRule = NonNullable<MergeNode["list"]>;

/**
 * Orders a merged list as the patch's `$setElementOrder` wants. Items that the patch does not know keep their place
 * relative to the others as well as that is possible.
 *
 * @param before the list as it was, for the places of unknown items
 */
export function inOrder(
  items: readonly unknown[],
  before: readonly unknown[],
  order: readonly unknown[],
  rule: ListRule,
): unknown[] {
  const identity = (item: unknown): unknown => (rule === "values" ? item : isObject(item) ? item[rule.key] : undefined);
  const wanted = order.map(identity);
  const place = (list: readonly unknown[], item: unknown): number =>
    list.findIndex((candidate) => equalJson(candidate, identity(item)));
  const old = before.map(identity);
  const known = items.filter((item) => place(wanted, item) >= 0).sort((a, b) => place(wanted, a) - place(wanted, b));
  const others = items.filter((item) => place(wanted, item) < 0);

  const result: unknown[] = [];
  let next = 0;
  for (const item of known) {
    const at = place(old, item);
    // An unknown item goes first unless it is known to have stood behind.
    while (next < others.length && !(at >= 0 && at < place(old, others[next]))) result.push(others[next++]);
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}
