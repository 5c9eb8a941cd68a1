import { encodeRecord, type LogRecord } from "#api/log-record.ts";
import type { LogSink } from "#runtime/logs/sink.ts";

/** A sink that keeps the records, for the simulation. It still encodes them, so that a record that no line can hold shows. */
export class MemorySink implements LogSink {
  readonly records: LogRecord[] = [];

  async write(records: readonly LogRecord[]): Promise<void> {
    for (const record of records) {
      encodeRecord(record);
      this.records.push(record);
    }
  }
}
