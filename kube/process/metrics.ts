/** The text format of Prometheus (version 0.0.4): all that a scrape needs. Values are gathered when they are asked for. */

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Metric {
  /** `kruntimes_...`, with its unit; counters end in `_total`. */
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** `Content-Type` of {@link exposition}. */
export const expositionType = "text/plain; version=0.0.4; charset=utf-8";

/** A metric with one value and no labels. */
export const single = (name: string, type: Metric["type"], help: string, value: number): Metric => ({
  name,
  type,
  help,
  samples: [{ value }],
});

/** A metric with one label; a value for each of its values. */
export const by = (
  label: string,
  name: string,
  type: Metric["type"],
  help: string,
  values: Readonly<Record<string, number>>,
): Metric => ({
  name,
  type,
  help,
  samples: Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value })),
});

/** The answer to a scrape. */
export function exposition(metrics: readonly Metric[]): string {
  return metrics
    .flatMap(({ name, type, help, samples }) => [
      `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(({ labels, value }) => `${name}${labelsText(labels)} ${valueText(value)}`),
    ])
    .map((line) => `${line}\n`)
    .join("");
}

function labelsText(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escapeLabel = (value: string) => value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

function valueText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}
