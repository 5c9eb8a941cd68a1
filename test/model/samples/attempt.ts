import type { AnyMachineSnapshot } from "xstate";
import type { AttemptEvent, AttemptSnapshot } from "#machines/attempt.ts";
import { artifact, type Samples, type Walk } from "./samples.ts";

export const attemptSamples: Samples<AttemptEvent> = {
  ADMIT: [{ type: "ADMIT" }],
  REFUSE: [{ type: "REFUSE", message: "the Pod is full" }],
  RESUME: [
    { type: "RESUME", execution: "Known" },
    { type: "RESUME", execution: "NeverStarted" },
    { type: "RESUME", execution: "Lost" },
  ],
  CLAIMED: [{ type: "CLAIMED" }],
  PREPARED: [{ type: "PREPARED" }],
  STAGED: [{ type: "STAGED" }],
  STARTED: [{ type: "STARTED" }],
  EXIT: [
    { type: "EXIT", exitCode: 0 },
    { type: "EXIT", exitCode: 137, message: "killed by SIGKILL" },
  ],
  COLLECTED: [
    { type: "COLLECTED", outputs: {}, artifacts: 0 },
    { type: "COLLECTED", outputs: { tests: "passed" }, artifacts: 2 },
  ],
  UPLOADED: [{ type: "UPLOADED", artifactRefs: [artifact("dist.tgz", "u1")] }],
  FAILED: [{ type: "FAILED", reason: "ArtifactStoreUnavailable", message: "503" }],
  TIMEOUT: [{ type: "TIMEOUT", message: "longer than 5m" }],
  CANCEL: [{ type: "CANCEL", message: "cancelled by its owner" }],
  FENCED: [{ type: "FENCED" }],
  GONE: [{ type: "GONE" }],
  REPORTED: [{ type: "REPORTED" }],
};

export const attemptWalk: Walk = {
  samples: attemptSamples,
  essence: (snapshot: AnyMachineSnapshot) => {
    const { value, context } = snapshot as AttemptSnapshot;
    return [value, context.outcome, context.outputs];
  },
};
