import type { Run } from "#api/kinds/run.ts";
import type { Event } from "#kube/builtin.ts";
import { age } from "#local/table/human-duration.ts";
import { printable, size } from "#workflows/text.ts";
import { adviceFor } from "../cluster/run-end.ts";
import { tableLines } from "./table.ts";

type Field = readonly [label: string, value: string | number | undefined];

/** Everything about a Run, for people. */
export function describeRun(run: Run, events: readonly Event[], now: number): string[] {
  const { metadata, spec, status } = run;
  const policy = spec.retryPolicy;
  return [
    ...fields([
      ["Name", metadata.name],
      ["Namespace", metadata.namespace],
      ["Labels", pairsOf(metadata.labels)],
      [
        "Created",
        metadata.creationTimestamp && `${metadata.creationTimestamp} (${age(metadata.creationTimestamp, now)} ago)`,
      ],
      ["Runtime", spec.runtime],
      ["Source", sourceOf(run)],
      ["Workspace", spec.workspace?.name],
      ["Timeout", spec.timeout],
      ["Retries", policy === undefined ? undefined : `${(policy.maxAttempts ?? 1) - 1}`],
      ["Cancelled", spec.termination === undefined ? undefined : (spec.termination.message ?? "asked to end")],
      ["Phase", status?.phase],
      ["Reason", status?.reason],
      ["Message", status?.message === undefined ? undefined : status.message.split("\n").map(printable).join("\n")],
      ["Advice", status?.phase === "Succeeded" ? undefined : adviceFor(status?.reason)],
      ["Pod", status?.assignedPod],
      ["Attempt", status?.attempt],
      ["Started", status?.startTime],
      ["Ended", status?.completionTime],
      ["Duration", status?.duration],
      ["Exit code", status?.exitCode],
    ]),
    ...section(
      "Outputs",
      Object.entries(status?.outputs ?? {}).map(([name, value]) => `${printable(name)} = ${printable(value)}`),
    ),
    ...section(
      "Artifacts",
      (status?.artifactRefs ?? []).map((ref) => `${printable(ref.name)}  ${size(ref.sizeBytes)}  ${ref.digest}`),
    ),
    ...section("Earlier attempts", attemptLines(status?.attempts ?? [])),
    ...section("Events", eventLines(events, now)),
  ];
}

/** Labels and values, the values below each other; what has no value is left out. */
export function fields(all: readonly Field[]): string[] {
  const shown = all.filter(([, value]) => value !== undefined && value !== "");
  const width = shown.reduce((longest, [label]) => Math.max(longest, label.length), 0) + 2;
  return shown.map(([label, value]) => {
    const [first = "", ...rest] = String(value).split("\n");
    return [`${`${label}:`.padEnd(width)}${first}`, ...rest.map((line) => `${" ".repeat(width)}${line}`)].join("\n");
  });
}

/** A title and indented lines; nothing when there are none. */
export function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)];
}

const pairsOf = (labels: Readonly<Record<string, string>> = {}): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");

function sourceOf({ spec: { source, mode } }: Run): string | undefined {
  const args = (mode?.task?.args ?? [])
    .map((word) => (/^[\w./:=@%+-]+$/.test(word) ? word : JSON.stringify(word)))
    .join(" ");
  if (source?.repoURL !== undefined)
    return [source.repoURL, source.commitSHA, mode?.task?.entrypoint, args].filter(Boolean).join(" ");
  if (source?.inline === undefined) return args === "" ? undefined : `command ${printable(args)}`;
  const lines = source.inline.trimEnd().split("\n").length;
  return `script of ${lines} line${lines === 1 ? "" : "s"}${args === "" ? "" : ` with ${printable(args)}`}`;
}

function attemptLines(attempts: NonNullable<NonNullable<Run["status"]>["attempts"]>): string[] {
  if (attempts.length === 0) return [];
  return tableLines(
    ["NUMBER", "REASON", "EXIT CODE", "POD", "ENDED"],
    attempts.map(({ number, reason = "", exitCode = "", pod = "", endTime = "" }) => [
      String(number),
      reason,
      String(exitCode),
      pod,
      endTime,
    ]),
  );
}

function eventLines(events: readonly Event[], now: number): string[] {
  if (events.length === 0) return [];
  const last = (event: Event) => event.series?.lastObservedTime ?? event.eventTime ?? event.metadata.creationTimestamp;
  const ordered = events.toSorted((a, b) => Date.parse(last(a)) - Date.parse(last(b)));
  return tableLines(
    ["AGE", "TYPE", "REASON", "FROM", "MESSAGE"],
    ordered.map((event) => [
      age(last(event), now),
      event.type ?? "",
      event.reason ?? "",
      event.reportingController ?? "",
      printable(event.note ?? ""),
    ]),
  );
}
