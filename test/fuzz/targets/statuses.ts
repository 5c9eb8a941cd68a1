import assert from "node:assert/strict";
import fc from "fast-check";
import { type Lifecycle, lifecycles } from "#machines/index.ts";
import { MalformedStatusError, UnknownPhaseError } from "#machines/lib/persist.ts";
import { mutatedJson } from "../mutate-json.ts";
import { defineTarget } from "../target.ts";

const stored = lifecycles.filter(({ persistence }) => persistence !== undefined);
const time = "2026-01-01T00:00:00.000000Z";
/** Every field that some chart computes with. */
const fields = {
  name: "step",
  attempt: 2,
  attempts: [{ number: 1, reason: "ProcessFailed", startTime: time, endTime: time }],
  assignedPod: "p",
  assignedPodUID: "u",
  assignmentEpoch: 3,
  startTime: time,
  nextAttemptTime: time,
  completionTime: time,
  conditions: [{ type: "Finished", status: "True", reason: "Completed", message: "m", lastTransitionTime: time }],
  jobs: { build: { phase: "Waiting", steps: [{ name: "a", phase: "Waiting" }] } },
  steps: [{ name: "a", phase: "Running", runName: "r" }],
  instances: 2,
  outputs: { a: "b" },
  appliedActions: [{ uid: "u", phase: "Succeeded" }],
  reason: "TimedOut",
  message: "m",
  shutdown: "Stop",
};

/** A status in each state of the chart. */
const examplesOf = ({ machine }: Lifecycle) =>
  Object.keys(machine.states).flatMap((phase) => [
    { phase, name: "step" },
    { ...fields, phase },
  ]);

export const statuses = (charts: readonly Lifecycle[] = stored) =>
  defineTarget({
    name: "statuses",
    holds:
      "any stored status is a state of its chart, which is stored as the same status again, or an error that names the field or the phase",
    outcomes: ["a state", "malformed", "unknown phase"],
    inputs: fc.oneof(
      ...charts.map((chart) =>
        fc.record({
          chart: fc.constant(chart),
          status: fc.oneof(
            { weight: 9, arbitrary: mutatedJson(examplesOf(chart)) },
            fc.jsonValue(),
            fc.constant(undefined),
          ),
        }),
      ),
    ),
    show: ({ chart, status }) => `${chart.name} ${JSON.stringify(status)}`,
    check({ chart, status }) {
      const { persistence } = chart;
      if (persistence === undefined) throw new Error(`${chart.name} is not stored`);
      const snapshot = (() => {
        try {
          return persistence.restore(status);
        } catch (error) {
          if (error instanceof UnknownPhaseError || error instanceof MalformedStatusError) return error;
          throw error;
        }
      })();
      if (snapshot instanceof UnknownPhaseError) return "unknown phase";
      if (snapshot instanceof MalformedStatusError) {
        assert.match(snapshot.message, /^status/);
        return "malformed";
      }
      const again = persistence.toStatus(snapshot);
      if (status !== undefined && status !== null) assert.deepEqual(again, status);
      assert.deepEqual(persistence.toStatus(persistence.restore(again)), again);
      return "a state";
    },
  });
