import fc from "fast-check";
import { expect, test } from "vitest";
import { Ledger } from "./ledger.ts";
import type { Availability } from "./pod-view.ts";
import { load } from "./slot.ts";
import { makeView, makeWorkload, requires } from "./testing/builders.ts";
import type { Workload } from "./workload.ts";

const x = { team: "x" };
const workloads: readonly Workload[] = [
  makeWorkload("plain"),
  makeWorkload("team", { labels: x }),
  makeWorkload("big", { requests: { runs: 3, gpu: 1 } }),
  makeWorkload("hermit", { labels: x, spec: requires(undefined, x) }),
  makeWorkload("session", { spec: { mode: { session: {} } } }),
  makeWorkload("free", { requests: { runs: 0 } }),
  makeWorkload("stranger", { runtime: "python", labels: x }),
];
const pods = ["p", "q", "r"];

/** What the ledger ought to know, kept in the simplest way. */
interface Model {
  readonly views: Map<string, ReturnType<typeof makeView>>;
  readonly charges: Map<string, { run: Workload; pod: string; epoch: number; assumed: boolean }>;
  readonly epochs: Map<string, number>;
}

type Step = { readonly name: string; readonly act: (ledger: Ledger, model: Model) => void };

const run = fc.constantFrom(...workloads);
const pod = fc.constantFrom(...pods);
const epochOf = (model: Model, { uid }: Workload) => model.epochs.get(uid) ?? 0;

/** A state of the Run as the API server may show it, newer or older than what is reserved. */
function observe(workload: Workload, at: string | undefined, age: number): Step {
  return {
    name: `observe ${workload.name} at ${at} age ${age}`,
    act(ledger, model) {
      const epoch = Math.max(0, epochOf(model, workload) - age);
      ledger.observe(workload, epoch, at && `uid-${at}`);
      const charge = model.charges.get(workload.uid);
      if (charge?.assumed && epoch < charge.epoch) return;
      if (at === undefined) model.charges.delete(workload.uid);
      else model.charges.set(workload.uid, { run: workload, pod: at, epoch, assumed: false });
    },
  };
}

function assume(workload: Workload, at: string): Step {
  return {
    name: `assume ${workload.name} at ${at}`,
    act(ledger, model) {
      const epoch = epochOf(model, workload) + 1;
      model.epochs.set(workload.uid, epoch);
      ledger.assume(workload, `ns/uid-${at}`, epoch);
      model.charges.set(workload.uid, { run: workload, pod: at, epoch, assumed: true });
    },
  };
}

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(run, fc.option(pod, { nil: undefined }), fc.integer({ min: 0, max: 1 })).map((args) => observe(...args)),
  fc.tuple(run, pod).map((args) => assume(...args)),
  run.map((workload) => ({
    name: `release ${workload.name}`,
    act(ledger: Ledger, { charges }: Model) {
      ledger.release(workload.uid);
      if (charges.get(workload.uid)?.assumed) charges.delete(workload.uid);
    },
  })),
  run.map((workload) => ({
    name: `forget ${workload.name}`,
    act(ledger: Ledger, { charges }: Model) {
      ledger.forget(workload.uid);
      charges.delete(workload.uid);
    },
  })),
  fc
    .tuple(
      pod,
      fc.constantFrom<Availability>("available", "available", "notReady", "draining"),
      fc.integer({ min: 1, max: 6 }),
    )
    .map(([name, availability, runs]) => ({
      name: `set ${name} ${availability} ${runs}`,
      act(ledger: Ledger, { views }: Model) {
        const view = makeView(name, { runs, gpu: 1 }, availability);
        ledger.setPod(view);
        views.set(name, view);
      },
    })),
  pod.map((name) => ({
    name: `remove ${name}`,
    act(ledger: Ledger, { views }: Model) {
      ledger.removePod(`ns/uid-${name}`);
      views.delete(name);
    },
  })),
);

/** Everything that can be asked of a ledger, in a form that can be compared. */
function contents(ledger: Ledger) {
  const pool = ledger.pool("ns/bash");
  return {
    active: ledger.active,
    slots: pods.map((name) => {
      const slot = ledger.slot(`ns/uid-${name}`);
      return (
        slot && {
          name,
          view: slot.view,
          used: Object.fromEntries([...slot.used].sort()),
          runs: [...slot.runs.keys()].sort(),
          exclusive: slot.exclusive,
          load: slot.view && load(slot),
          indexed: pool.get(slot.key) === slot,
        }
      );
    }),
    size: pool.size,
    // Order within a bucket depends on history; the buckets do not.
    byLoad: [...pool.byLoad()].map((slot) => [slot.bucket, slot.key] as const).sort(),
    inOrder: [...pool.byLoad()].every((slot, i, all) => i === 0 || (all[i - 1]?.bucket ?? 0) <= slot.bucket),
    team: [
      ...pool.labels.podsMatching({ key: "", lookups: [["team\0x"]], matches: ({ team }) => team === "x" }),
    ].sort(),
    others: [...ledger.pool("ns/python").labels.podsMatching({ key: "", lookups: [], matches: () => true })].sort(),
    repelling: [...pool.repellents.podsRepelling(x)].sort(),
  };
}

function recompute({ views, charges }: Model): Ledger {
  const ledger = new Ledger();
  for (const view of views.values()) ledger.setPod(view);
  for (const { run: workload, pod: at, epoch } of charges.values()) ledger.observe(workload, epoch, `uid-${at}`);
  return ledger;
}

test("after any history the ledger is what it would be if it were made anew", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const ledger = new Ledger();
      const model: Model = { views: new Map(), charges: new Map(), epochs: new Map() };
      for (const { act } of steps) {
        act(ledger, model);
        expect(contents(ledger)).toEqual(contents(recompute(model)));
      }
    }),
    { numRuns: 300 },
  );
});

test("when all Runs and Pods are gone nothing is left", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const ledger = new Ledger();
      const model: Model = { views: new Map(), charges: new Map(), epochs: new Map() };
      for (const { act } of steps) act(ledger, model);
      for (const { uid } of workloads) ledger.forget(uid);
      for (const name of pods) ledger.removePod(`ns/uid-${name}`);
      expect(contents(ledger)).toEqual(contents(new Ledger()));
      expect(pods.map((name) => ledger.slot(`ns/uid-${name}`))).toEqual([undefined, undefined, undefined]);
    }),
    { numRuns: 100 },
  );
});

const [plain] = workloads as [Workload];

test("an older event does not end a reservation, one of its epoch does", () => {
  const ledger = new Ledger();
  ledger.setPod(makeView("p"));
  expect(ledger.assume(plain, "ns/uid-p", 1)).toMatchObject([{ kind: "taken" }]);
  expect(ledger.observe(plain, 0, undefined)).toEqual([]);
  expect(ledger.slot("ns/uid-p")?.used.get("runs")).toBe(1);
  expect(ledger.observe(plain, 1, "uid-p")).toEqual([]);
  expect(ledger.release(plain.uid)).toEqual([]); // confirmed: no longer ours to give back
  expect(ledger.slot("ns/uid-p")?.used.get("runs")).toBe(1);
});

test("a Run that was handed back before its assignment was seen frees its place", () => {
  const ledger = new Ledger();
  ledger.setPod(makeView("p"));
  ledger.assume(plain, "ns/uid-p", 1);
  expect(ledger.observe(plain, 1, undefined)).toMatchObject([{ kind: "freed", workload: plain }]);
  expect(ledger.slot("ns/uid-p")?.used.size).toBe(0);
});

test("a Pod is kept free for one Run at a time, and for nobody once it is not available", () => {
  const ledger = new Ledger();
  for (const name of ["p", "q"]) ledger.setPod(makeView(name));
  const [p, q] = pods.map((name) => ledger.slot(`ns/uid-${name}`));
  if (p === undefined || q === undefined) throw new Error("no slots");
  ledger.hold(plain, p);
  ledger.hold(plain, q);
  expect([p.heldFor, q.heldFor, ledger.holding]).toEqual([undefined, plain, 1]);
  ledger.setPod(makeView("q", { runs: 2 }, "notReady"));
  expect([q.heldFor, ledger.heldBy(plain.uid), ledger.holding]).toEqual([undefined, undefined, 0]);
  ledger.hold(plain, p);
  expect(ledger.unhold(plain.uid)).toBe(p);
  expect([p.heldFor, ledger.unhold(plain.uid)]).toEqual([undefined, undefined]);
});
