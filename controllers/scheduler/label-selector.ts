import { stableJson } from "#api/json.ts";
import type { LabelSelector } from "#api/kinds/run.ts";

export type Labels = Readonly<Record<string, string>>;

/** A label selector that was read once and is matched many times. */
export interface Selector {
  /** Equal selectors have equal keys, whatever the order of their parts. */
  readonly key: string;
  /**
   * For each requirement that names label values: the pairs (see {@link pairOf}) of which an object must have one. An index over
   * pairs finds the objects by any of these; none means that only {@link matches} can tell.
   */
  readonly lookups: readonly (readonly string[])[];
  matches(labels: Labels): boolean;
}

/** One label as a single string; no label key contains NUL. */
export const pairOf = (key: string, value: string): string => `${key}\0${value}`;

type Requirement = (labels: Labels) => boolean;

/** What an object has under a key; every JavaScript object has a `constructor`, which is no label. */
const labelOf = (labels: Labels, key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);

/** Reads a selector as Kubernetes does: all requirements must hold, and an empty selector chooses everything. */
export function compileSelector(selector: LabelSelector): Selector {
  const requirements: Requirement[] = [];
  const lookups: string[][] = [];
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    requirements.push((labels) => labelOf(labels, key) === value);
    lookups.push([pairOf(key, value)]);
  }
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const wanted = new Set(values);
    switch (operator) {
      case "In":
        requirements.push((labels) => {
          const value = labelOf(labels, key);
          return value !== undefined && wanted.has(value);
        });
        lookups.push(values.map((value) => pairOf(key, value)));
        break;
      case "NotIn":
        requirements.push((labels) => {
          const value = labelOf(labels, key);
          return value === undefined || !wanted.has(value);
        });
        break;
      case "Exists":
        requirements.push((labels) => labelOf(labels, key) !== undefined);
        break;
      case "DoesNotExist":
        requirements.push((labels) => labelOf(labels, key) === undefined);
        break;
      default:
        operator satisfies never;
    }
  }
  return {
    key: stableJson(selector),
    lookups,
    matches: (labels) => requirements.every((holds) => holds(labels)),
  };
}
