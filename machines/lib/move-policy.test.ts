import { expect, test } from "vitest";
import { setup } from "xstate";
import { describe } from "./describe.ts";
import type { TransitionMeta } from "./meta.ts";
import { moveCheck, writerTables } from "./move-policy.ts";

const by = (writer: TransitionMeta["writer"], reopens?: true) => ({
  description: "d",
  meta: { writer, ...(reopens && { reopens }) },
});

const machine = setup({ types: { events: {} as { type: "GO" } | { type: "END" } | { type: "AGAIN" } } }).createMachine({
  id: "sample",
  description: "d",
  initial: "Here",
  states: {
    Here: { description: "d", on: { GO: { target: "There", ...by("agent") }, END: { target: "Over", ...by("user") } } },
    There: { description: "d", on: { END: { target: "Over", ...by(["agent", "controller"]) } } },
    Over: { description: "d", tags: ["terminal"], on: { AGAIN: { target: "Here", ...by("controller", true) } } },
  },
});

test("a table has the identities that have edges, each with what it reaches by its own", () => {
  expect(writerTables(describe(machine))).toEqual({
    agent: { moves: { Here: ["Here", "There", "Over"], There: ["There", "Over"], Over: ["Over"] }, reopens: {} },
    controller: { moves: { Here: ["Here"], There: ["There", "Over"], Over: ["Over"] }, reopens: { Over: ["Here"] } },
    user: { moves: { Here: ["Here", "Over"], There: ["There"], Over: ["Over"] }, reopens: {} },
  });
});

test("reopening is an edge of its own, and raises the attempt", () => {
  const { variables, expression } = moveCheck(writerTables(describe(machine)));
  expect(variables.find(({ name }) => name === "reopens")?.expression).toBe("{'controller': {'Over': ['Here']}}");
  expect(expression).toContain("object.status.attempt == oldObject.status.attempt + 1");
});

test("a name that is no word is refused before it becomes CEL", () => {
  const moves = { "It's": [] };
  expect(() => moveCheck({ agent: { moves, reopens: {} } })).toThrow("is no name of a state or a writer");
});
