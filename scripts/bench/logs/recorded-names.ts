/** What is recorded: of which Run in which namespace. */
export const namespace = "bench";
export const runName = "busy";

export interface RecordedTask {
  readonly messageBytes: number;
  /** Bytes that the program of the Run printed. */
  readonly printed: number;
  /** Whether the records are of the Run that is followed; else they are another Run's, but for the last. */
  readonly own: boolean;
  /** PEM of the authority of the aggregation layer. */
  readonly ca: string;
}
