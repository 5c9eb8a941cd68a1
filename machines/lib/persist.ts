/**
 * A status names a phase that the chart does not have: a newer version wrote it, or the phase belongs to a mode that
 * is not built.
 *
 * What to do: leave the object alone and upgrade this component.
 */
export class UnknownPhaseError extends Error {
  override readonly name = "UnknownPhaseError";
  readonly chart: string;
  readonly phase: string;

  constructor(chart: string, phase: string, known: readonly string[]) {
    super(`status.phase "${phase}" is no state of the ${chart} chart (${known.join(", ")}); a newer version wrote it`);
    this.chart = chart;
    this.phase = phase;
  }
}

/**
 * A status has a field of the wrong type. The API server's schema refuses such a status, so it came from somewhere
 * else.
 *
 * What to do: correct the field that `path` names.
 */
export class MalformedStatusError extends Error {
  override readonly name = "MalformedStatusError";
  readonly chart: string;
  readonly path: string;

  constructor(chart: string, path: string, expected: string, found: unknown) {
    super(`${path} of the ${chart} chart must be ${expected}, found ${show(found)}`);
    this.chart = chart;
    this.path = path;
  }
}

/** A foreign value for people: short, and without failing on what JSON cannot say. */
function show(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? String(value)).slice(0, 200);
  } catch {
    return typeof value;
  }
}

/** What a field must be when it is present (`name` also must be); only fields that a chart computes with need an entry. */
export type Form = "name" | "count" | "text" | "time" | "list" | "map" | "conditions";

const forms: Readonly<Record<Form, { readonly expected: string; readonly holds: (value: unknown) => boolean }>> = {
  count: { expected: "a whole number, 0 or more", holds: (value) => Number.isInteger(value) && Number(value) >= 0 },
  name: { expected: "a text", holds: (value) => typeof value === "string" },
  text: { expected: "a text", holds: (value) => typeof value === "string" },
  time: {
    expected: "an RFC 3339 time",
    holds: (value) => typeof value === "string" && !Number.isNaN(Date.parse(value)),
  },
  list: { expected: "a list", holds: Array.isArray },
  map: { expected: "a map", holds: isMap },
  conditions: {
    expected: "a list of conditions with type, status, reason, message and lastTransitionTime",
    holds: (value) => Array.isArray(value) && value.every(isCondition),
  },
};

/**
 * Checks that a persisted status can be restored into a chart and tells its phase.
 * @throws UnknownPhaseError, MalformedStatusError
 */
export function checkStatus(
  chart: string,
  status: unknown,
  phases: readonly string[],
  fields: Readonly<Record<string, Form>>,
): void {
  if (!isMap(status)) throw new MalformedStatusError(chart, "status", "an object", status);
  const { phase } = status;
  if (typeof phase !== "string") throw new MalformedStatusError(chart, "status.phase", "a text", phase);
  if (!phases.includes(phase)) throw new UnknownPhaseError(chart, phase, phases);
  for (const [field, form] of Object.entries(fields)) {
    const value = status[field];
    if ((value !== undefined || form === "name") && !forms[form].holds(value)) {
      throw new MalformedStatusError(chart, `status.${field}`, forms[form].expected, value);
    }
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCondition(value: unknown): boolean {
  return (
    isMap(value) &&
    ["type", "status", "reason", "message", "lastTransitionTime"].every((field) => typeof value[field] === "string")
  );
}
