import { formatDuration } from "#api/duration.ts";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { cut, type Paint, paint, printable, size } from "./text.ts";
import { runNode, type TreeNode, treeOf } from "./tree-model.ts";
import type { UsedRuns } from "./used-runs.ts";

export interface TreeOptions {
  /** Milliseconds since the epoch: how long what still runs has been running. */
  readonly now: number;
  /** Whether to color with ANSI sequences; default false. */
  readonly color?: boolean;
  /** Columns of the terminal; longer lines are cut. Without it nothing is cut. */
  readonly width?: number;
  /** Order of the jobs; default the order in which they started. */
  readonly order?: readonly string[];
  /** The runs that jobs are, by name: unfolded where they are known. */
  readonly used?: UsedRuns | undefined;
}

const signs: Readonly<Record<TreeNode["phase"], readonly [sign: string, color: Paint]>> = {
  Pending: ["·", "dim"],
  Waiting: ["·", "dim"],
  Queued: ["◌", "dim"],
  Scheduled: ["◌", "dim"],
  Running: ["●", "yellow"],
  Ready: ["●", "yellow"],
  Finalizing: ["●", "yellow"],
  Suspended: ["‖", "cyan"],
  Stopping: ["◍", "yellow"],
  Succeeded: ["✔", "green"],
  Failed: ["✖", "red"],
  Timeout: ["✖", "red"],
  Cancelled: ["⊘", "red"],
  Skipped: ["○", "dim"],
};

/** The WorkflowRun as a tree of jobs and steps: phases, durations, reasons, outputs and artifacts, one line each. */
export function renderTree(run: WorkflowRun, options: TreeOptions): string[] {
  return renderNode(treeOf(run, options.now, options.order, options.used), "", "", options);
}

/** A Run that belongs to no workflow, in the same form. */
export function renderRun(run: Run, options: Omit<TreeOptions, "order" | "used">): string[] {
  return renderNode(runNode(run, options.now), "", "", options);
}

/**
 * @param first what stands before the line of the node itself
 * @param rest what stands before all lines below it
 */
function renderNode(node: TreeNode, first: string, rest: string, options: TreeOptions): string[] {
  const [sign, color] = signs[node.phase];
  const { children } = node;
  const below = `${rest}${children.length > 0 ? "│  " : "   "}`;
  const detail = (text: string, style: Paint) => line(below, text, style, options);
  const headline = [node.name, node.phase, ...durationOf(node), ...node.remarks].map(printable).join("  ");
  return [
    line(first, `${sign} ${headline}`, color, options),
    ...messageLines(node.message ?? "").map((text) => detail(printable(text), color)),
    ...node.outputs.map(([name, value]) => detail(`${printable(name)} = ${printable(value)}`, "plain")),
    ...node.artifacts.map((ref) => detail(artifactText(ref), "plain")),
    ...children.flatMap((child, index) => {
      const last = index === children.length - 1;
      return renderNode(child, `${rest}${last ? "└─ " : "├─ "}`, `${rest}${last ? "   " : "│  "}`, options);
    }),
  ];
}

/** Lines of a message that are shown; most end with what a program said last, and that is what people look for. */
const maxMessageLines = 12;

function messageLines(message: string): string[] {
  const lines = message.split("\n").filter((text) => text.trim() !== "");
  if (lines.length <= maxMessageLines) return lines;
  return [...lines.slice(0, 1), "…", ...lines.slice(2 - maxMessageLines)];
}

function durationOf({ durationMs }: TreeNode): string[] {
  if (durationMs === undefined) return [];
  return [formatDuration(durationMs < 1000 ? Math.round(durationMs) : Math.round(durationMs / 100) * 100)];
}

function artifactText({ name, type, sizeBytes, digest }: ArtifactRef): string {
  return `${printable(name)}${type === "Directory" ? "/" : ""}  ${size(sizeBytes)}  ${digest}`;
}

function line(before: string, text: string, style: Paint, { color = false, width }: TreeOptions): string {
  const room = width === undefined ? text : cut(text, width - before.length);
  return color ? `${paint(before, "dim")}${paint(room, style)}` : `${before}${room}`.trimEnd();
}
