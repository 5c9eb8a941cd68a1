import { expect, test } from "vitest";
import { refusal, setup, type Widget, widgetCrd, widgets } from "../testing/setup.ts";
import type { SchemaSource } from "./types.ts";

/** Rules about what may become of what: `oldSelf`, and the form in which phases of a machine are enforced. */

/** The rule as generated from charts: moves within an attempt, and moves that open a new one. */
const moves = "{'Pending': ['Pending', 'Running', 'Failed'], 'Running': ['Running', 'Failed'], 'Failed': ['Failed']}";
const reopens = "{'Failed': ['Pending']}";
const rule =
  `!oldSelf.hasValue() ? self.phase == 'Pending' : self.phase in ${moves}[oldSelf.value().phase] || ` +
  `(oldSelf.value().phase in ${reopens} && self.phase in ${reopens}[oldSelf.value().phase] && self.attempt == oldSelf.value().attempt + 1)`;

const schema: SchemaSource = {
  type: "object",
  properties: {
    spec: { type: "object", properties: { n: { type: "integer" } } },
    status: {
      type: "object",
      default: { phase: "Pending" },
      required: ["phase"],
      properties: {
        phase: { type: "string", enum: ["Pending", "Running", "Failed"] },
        attempt: { type: "integer" },
        note: { type: "string" },
      },
      "x-kubernetes-validations": [
        { rule, optionalOldSelf: true, messageExpression: "'phase cannot become ' + self.phase" },
      ],
    },
  },
};

const ref = { name: "a", namespace: "default" };

async function inPhase(...path: Widget["status"][]) {
  const { client, server } = setup({ crds: [widgetCrd(schema)] });
  const api = client.of(widgets);
  let object = await api.create({ metadata: { ...ref }, spec: {} });
  for (const status of path)
    object = await api.update({ ...object, ...(status === undefined ? {} : { status }) }, "status");
  return { api, object, server };
}

const refusedText = (phase: string): string =>
  `Widget.example.com "a" is invalid: status: Invalid value: "object": phase cannot become ${phase}`;

test("a new object is Pending, whatever its creator says", async () => {
  const { client } = setup({ crds: [widgetCrd(schema)] });
  const created = await client.of(widgets).create({ metadata: { ...ref }, status: { phase: "Failed" } });
  expect(created.status).toEqual({ phase: "Pending" });
});

test("the first status write moves from Pending, not from nothing", async () => {
  const { api, object } = await inPhase();
  const running = await api.update({ ...object, status: { phase: "Running", attempt: 1 } }, "status");
  expect(running.status).toEqual({ phase: "Running", attempt: 1 });
});

const running = { phase: "Running", attempt: 1 };
const failed = { phase: "Failed", attempt: 1 };

const table: Record<string, { path: Widget["status"][]; to: unknown; want: "ok" | string }> = {
  "along an edge": { path: [running], to: failed, want: "ok" },
  "staying where it is": { path: [running], to: { ...running, note: "x" }, want: "ok" },
  "against the edges": { path: [running], to: { phase: "Pending", attempt: 1 }, want: refusedText("Pending") },
  "out of an end without a new attempt": {
    path: [running, failed],
    to: { phase: "Pending", attempt: 1 },
    want: refusedText("Pending"),
  },
  "out of an end with a new attempt": { path: [running, failed], to: { phase: "Pending", attempt: 2 }, want: "ok" },
  "out of an end with two new attempts": {
    path: [running, failed],
    to: { phase: "Pending", attempt: 3 },
    want: refusedText("Pending"),
  },
  "out of an end to a place that no edge reopens": {
    path: [running, failed],
    to: { phase: "Running", attempt: 2 },
    want: refusedText("Running"),
  },
  "a phase that does not exist": {
    path: [],
    to: { phase: "Odd" },
    want: 'status.phase: Unsupported value: "Odd": supported values: "Pending", "Running", "Failed"',
  },
};

test.each(Object.entries(table))("%s", async (_, { path, to, want }) => {
  const { api, object } = await inPhase(...path);
  const put = api.update({ ...object, status: to as Widget["status"] & object }, "status");
  if (want === "ok") expect((await put).status).toEqual(to);
  else expect((await refusal(put)).message).toContain(want);

  const patch = api.patch(ref, [{ op: "replace", path: "/status", value: to }], {
    subresource: "status",
    type: "application/json-patch+json",
  });
  if (want === "ok") expect((await patch).status).toEqual(to);
  else expect((await refusal(patch)).message).toContain(want);
});

test("dropping the phase does not get around the rule", async () => {
  const { api, object } = await inPhase(running);
  const put = api.update({ ...object, status: { attempt: 1 } }, "status");
  expect((await refusal(put)).message).toContain("status.phase: Required value");
  const patch = api.patch(ref, { status: { phase: null } }, { subresource: "status" });
  expect((await refusal(patch)).message).toContain("status.phase: Required value");
});

test("status: null is the default, which the rule judges like any other", async () => {
  const { api, object } = await inPhase(running);
  const put = api.update({ ...object, status: null as unknown as Widget["status"] & object }, "status");
  expect((await refusal(put)).message).toBe(refusedText("Pending"));
  const patch = api.patch(ref, { status: null }, { subresource: "status" });
  expect((await refusal(patch)).message).toBe(refusedText("Pending"));
});

test("leaving the status out is the same as null", async () => {
  const { api, object } = await inPhase(running);
  const { status: _, ...rest } = object;
  expect((await refusal(api.update(rest, "status"))).message).toBe(refusedText("Pending"));
});

test("a message cannot use an optional old value and falls back", async () => {
  const withOld: SchemaSource = {
    type: "object",
    properties: {
      status: {
        type: "object",
        properties: { phase: { type: "string" } },
        "x-kubernetes-validations": [
          {
            rule: "!oldSelf.hasValue() || self.phase == oldSelf.value().phase",
            optionalOldSelf: true,
            messageExpression: "'was ' + oldSelf.value().phase",
            message: "phase is fixed",
          },
        ],
      },
    },
  };
  const api = setup({ crds: [widgetCrd(withOld)] }).client.of(widgets);
  const made = await api.create({ metadata: { ...ref } });
  const first = await api.update({ ...made, status: { phase: "A" } }, "status");
  const error = await refusal(api.update({ ...first, status: { phase: "B" } }, "status"));
  expect(error.message).toBe('Widget.example.com "a" is invalid: status: Invalid value: "object": phase is fixed');
});

test("a write to the object keeps the status, whatever it says", async () => {
  const { api, object } = await inPhase(running);
  const updated = await api.update({ ...object, spec: { n: 2 }, status: { phase: "Pending" } });
  expect(updated).toMatchObject({ spec: { n: 2 }, status: running });
});

const jobs: SchemaSource = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        jobs: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            required: ["name"],
            properties: { name: { type: "string" }, n: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.n >= oldSelf.n", message: "n may not fall" }],
          },
        },
        limits: {
          type: "object",
          additionalProperties: {
            type: "integer",
            "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "limits are fixed" }],
          },
        },
      },
    },
  },
};

const correlations: Record<string, { from: object; to: object; want: "ok" | string }> = {
  "items of a list map are found by their key, wherever they stand": {
    from: {
      jobs: [
        { name: "a", n: 1 },
        { name: "b", n: 9 },
      ],
    },
    to: {
      jobs: [
        { name: "b", n: 9 },
        { name: "a", n: 2 },
      ],
    },
    want: "ok",
  },
  "an item that breaks its rule is named by its new place": {
    from: {
      jobs: [
        { name: "a", n: 1 },
        { name: "b", n: 9 },
      ],
    },
    to: {
      jobs: [
        { name: "b", n: 8 },
        { name: "a", n: 1 },
      ],
    },
    want: 'spec.jobs[0]: Invalid value: "object": n may not fall',
  },
  "a new item has nothing to be compared with": {
    from: { jobs: [{ name: "a", n: 1 }] },
    to: {
      jobs: [
        { name: "a", n: 1 },
        { name: "c", n: 0 },
      ],
    },
    want: "ok",
  },
  "values of a map are found by their key": {
    from: { limits: { a: 1 } },
    to: { limits: { a: 2 } },
    want: 'spec.limits[a]: Invalid value: "integer": limits are fixed',
  },
  "a new value of a map is free": { from: { limits: { a: 1 } }, to: { limits: { a: 1, b: 2 } }, want: "ok" },
  "removing is no change of what remains": { from: { limits: { a: 1, b: 2 } }, to: { limits: { b: 2 } }, want: "ok" },
};

test.each(Object.entries(correlations))("%s", async (_, { from, to, want }) => {
  const api = setup({ crds: [widgetCrd(jobs)] }).client.of(widgets);
  const object = await api.create({ metadata: { ...ref }, spec: { ...from } });
  const update = api.update({ ...object, spec: { ...to } });
  if (want === "ok") expect((await update).spec).toEqual(to);
  else expect((await refusal(update)).message).toBe(`Widget.example.com "a" is invalid: ${want}`);
});

test("a transition rule is asked even where nothing changed", async () => {
  const strict: SchemaSource = {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          n: { type: "integer" },
          o: {
            type: "object",
            properties: { n: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.n > oldSelf.n", message: "n must rise" }],
          },
        },
      },
    },
  };
  const api = setup({ crds: [widgetCrd(strict)] }).client.of(widgets);
  const object = await api.create({ metadata: { ...ref }, spec: { n: 1, o: { n: 1 } } });
  const update = api.update({ ...object, spec: { n: 2, o: { n: 1 } } });
  expect((await refusal(update)).message).toContain('spec.o: Invalid value: "object": n must rise');
});
