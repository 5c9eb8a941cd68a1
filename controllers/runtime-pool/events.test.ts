import { expect, test } from "vitest";
import type { RuntimeStatus } from "#api/kinds/runtime.ts";
import { eventsOf } from "./events.ts";

const status = (degraded: string | undefined, progressing: boolean): RuntimeStatus => ({
  conditions: [
    condition(
      "Degraded",
      degraded !== undefined,
      degraded === undefined ? "Healthy" : "PodsFailing",
      degraded ?? "fine",
    ),
    condition("Progressing", progressing, progressing ? "RolloutInProgress" : "RolloutComplete", "0 of 2"),
  ],
});

const condition = (type: string, holds: boolean, reason: string, message: string) => ({
  type,
  status: holds ? ("True" as const) : ("False" as const),
  reason,
  message,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

const cases: Record<string, { old: RuntimeStatus | undefined; now: RuntimeStatus; events: string[] }> = {
  "a healthy pool that stays healthy tells nothing": {
    old: status(undefined, false),
    now: status(undefined, false),
    events: [],
  },
  "a new pool tells nothing": { old: undefined, now: status(undefined, true), events: [] },
  "trouble is a warning": {
    old: status(undefined, false),
    now: status("no image", false),
    events: ["Warning PodsFailing no image"],
  },
  "the same trouble is told once": { old: status("no image", false), now: status("no image", false), events: [] },
  "other trouble is told": {
    old: status("no image", false),
    now: status("no claim", false),
    events: ["Warning PodsFailing no claim"],
  },
  "trouble at the very beginning is told": {
    old: undefined,
    now: status("no image", true),
    events: ["Warning PodsFailing no image"],
  },
  "the end of trouble is told": {
    old: status("no image", false),
    now: status(undefined, false),
    events: ["Normal Healthy fine"],
  },
  "a rollout is told when it begins": {
    old: status(undefined, false),
    now: status(undefined, true),
    events: ["Normal RolloutInProgress 0 of 2"],
  },
  "and when it ends": {
    old: status(undefined, true),
    now: status(undefined, false),
    events: ["Normal RolloutComplete 0 of 2"],
  },
};

test.each(Object.entries(cases))("%s", (_, { old, now, events }) => {
  expect(eventsOf(old, now).map(({ type, reason, message }) => `${type} ${reason} ${message}`)).toEqual(events);
});
