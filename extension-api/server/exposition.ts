import { by, type Metric, single } from "#kube/process/metrics.ts";

const prefix = "kruntimes_run_extension_api_";

/** What the service counts. */
export class Counters {
  #answers: Record<string, number> = {};
  #records = 0;
  #bytes = 0;

  answered(code: number): void {
    this.#answers[code] = (this.#answers[code] ?? 0) + 1;
  }

  sent(records: number, bytes: number): void {
    this.#records += records;
    this.#bytes += bytes;
  }

  metrics(): readonly Metric[] {
    return [
      by("code", `${prefix}answers_total`, "counter", "Answers by their HTTP code.", this.#answers),
      single(`${prefix}stream_records_total`, "counter", "Records sent to followers.", this.#records),
      single(`${prefix}stream_bytes_total`, "counter", "Bytes sent to followers.", this.#bytes),
    ];
  }
}

/** What a scrape shows of the streams at this moment. */
export function streamMetrics(now: {
  readonly followers: number;
  readonly snapshots: number;
  readonly streams: number;
  readonly bytes: number;
}): readonly Metric[] {
  return [
    single(`${prefix}followers`, "gauge", "Streams of records that are open.", now.followers),
    single(`${prefix}snapshots`, "gauge", "Snapshots under way.", now.snapshots),
    single(
      `${prefix}pod_streams`,
      "gauge",
      "Logs of Pods that are followed, each for all of its readers.",
      now.streams,
    ),
    single(`${prefix}waiting_bytes`, "gauge", "What waits for slow followers, in bytes.", now.bytes),
  ];
}
