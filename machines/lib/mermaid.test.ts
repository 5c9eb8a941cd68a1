// @vitest-environment jsdom
// Mermaid sanitises labels with a DOM, which it looks for when it is loaded.
import mermaidApi from "mermaid";
import { expect, test } from "vitest";
import { lifecycles } from "../index.ts";
import { describe } from "./describe.ts";
import { mermaid } from "./mermaid.ts";

test.each(lifecycles)("the drawing of $name is read by Mermaid", async ({ machine }) => {
  await expect(mermaidApi.parse(mermaid(describe(machine)))).resolves.toMatchObject({ diagramType: "stateDiagram" });
});

test("a text that is no diagram is not read", async () => {
  await expect(mermaidApi.parse("stateDiagram-v2\n  A --> --> B")).rejects.toThrow();
});

test.each(lifecycles)("every move of $name is drawn", ({ machine }) => {
  const model = describe(machine);
  const text = mermaid(model);
  for (const { from, to, event, moves } of model.transitions) {
    if (!moves) continue;
    const arrow = text.split("\n").find((line) => line.startsWith(`  ${from} --> ${to}: `));
    expect(arrow, `${from} -> ${to}`).toContain(event);
  }
});
