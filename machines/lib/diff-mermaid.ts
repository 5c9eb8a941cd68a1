import type { ChartModel, TransitionModel } from "./describe.ts";
import { isTerminalState } from "./describe.ts";
import { type Change, type ChartDiff, keyOf } from "./diff.ts";

/** Colours that are told apart on light and on dark ground. */
const colours: Readonly<Record<Change | "same", string>> = {
  added: "#1a7f37",
  removed: "#cf222e",
  altered: "#bf8700",
  same: "#8b949e",
};

type Mark = keyof typeof colours;

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly mark: Mark;
  readonly labels: string[];
}

/**
 * One Mermaid flowchart of all charts that differ: green is added, red is removed, yellow is altered, grey is as it was.
 * (State diagrams cannot colour their arrows.) Of the transitions that stay in their state only those that differ are
 * drawn.
 */
export function diffMermaid(diffs: readonly ChartDiff[]): string {
  const lines = ["flowchart LR"];
  const styles: string[] = [];
  let links = 0;
  diffs.forEach((diff, index) => {
    const id = (state: string) => `c${index}_${state}`;
    lines.push(`  subgraph c${index}["${diff.chart}"]`, "    direction LR");
    for (const { name, mark, isTerminal } of statesOf(diff)) {
      lines.push(`    ${id(name)}${isTerminal ? `(["${name}"])` : `("${name}")`}`);
      if (mark !== "same") styles.push(`  style ${id(name)} stroke:${colours[mark]},stroke-width:3px`);
    }
    for (const { from, to, mark, labels } of arrowsOf(diff)) {
      lines.push(`    ${id(from)} ${mark === "removed" ? "-.->" : "-->"}|"${labels.join("<br/>")}"| ${id(to)}`);
      styles.push(`  linkStyle ${links} stroke:${colours[mark]},color:${colours[mark]}`);
      links++;
    }
    lines.push("  end");
  });
  return `${[...lines, ...styles].join("\n")}\n`;
}

function markOf({ before, after, differences }: ChartDiff, kind: "state" | "transition", name: string): Mark {
  if (after === undefined) return "removed";
  if (before === undefined) return "added";
  return differences.find((each) => each.kind === kind && each.name === name)?.change ?? "same";
}

function statesOf(diff: ChartDiff): { name: string; mark: Mark; isTerminal: boolean }[] {
  const names = new Set(modelsOf(diff).flatMap(({ states }) => states.map(({ name }) => name)));
  return [...names].map((name) => ({
    name,
    mark: markOf(diff, "state", name),
    isTerminal: modelsOf(diff).some((model) => isTerminalState(model, name)),
  }));
}

const modelsOf = ({ after, before }: ChartDiff): ChartModel[] => [after, before].filter((model) => model !== undefined);

/** One arrow for each pair of states and each colour; a transition that leads elsewhere now is drawn both ways. */
function arrowsOf(diff: ChartDiff): Arrow[] {
  const arrows = new Map<string, Arrow>();
  const draw = ({ from, to, event, guard, moves }: TransitionModel, mark: Mark) => {
    if (!moves && mark === "same") return;
    const key = `${from} ${to} ${mark}`;
    const arrow = arrows.get(key) ?? { from, to, mark, labels: [] };
    arrow.labels.push(`${event}${guard === undefined ? "" : ` (${guard})`}`);
    arrows.set(key, arrow);
  };
  const old = new Map((diff.before?.transitions ?? []).map((each) => [keyOf(each), each]));
  const now = new Map((diff.after?.transitions ?? []).map((each) => [keyOf(each), each]));
  for (const [key, transition] of now) {
    const was = old.get(key);
    const isElsewhere = was !== undefined && was.to !== transition.to;
    draw(transition, isElsewhere ? "added" : markOf(diff, "transition", key));
    if (isElsewhere) draw(was, "removed");
  }
  for (const [key, transition] of old) if (!now.has(key)) draw(transition, "removed");
  return [...arrows.values()];
}
