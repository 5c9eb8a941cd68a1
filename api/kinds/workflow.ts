import { type Static, Type } from "@sinclair/typebox";
import type { Resource } from "../meta.ts";
import { Conditions, ListMap, ObservedGeneration } from "../schema.ts";
import { Env, foreign, Inputs, Jobs, Outputs, StepSpec } from "./job.ts";

export const WorkflowSpec = Type.Object(
  {
    inputs: Inputs(),
    outputs: Outputs(),
    env: Env(),
    jobs: Jobs("Jobs by id."),
    on: foreign(),
    // The key `on` as YAML 1.1 reads it, and with it kubectl.
    true: foreign(),
    name: foreign(),
    description: foreign(),
    "run-name": foreign(),
    permissions: foreign(),
    concurrency: foreign(),
    defaults: foreign(),
  },
  { description: "A template for WorkflowRuns." },
);
export type WorkflowSpec = Static<typeof WorkflowSpec>;

export const ActionSpec = Type.Object(
  {
    inputs: Inputs(),
    outputs: Outputs(),
    env: Env(),
    steps: ListMap(StepSpec, ["name"], { description: "Steps; each has `run`.", minItems: 1, maxItems: 128 }),
    runs: foreign(),
    name: foreign(),
    author: foreign(),
    description: foreign(),
    branding: foreign(),
  },
  { description: "Steps that jobs use by name." },
);
export type ActionSpec = Static<typeof ActionSpec>;

export const WorkflowStatus = Type.Object(
  {
    observedGeneration: ObservedGeneration(),
    jobs: Type.Optional(Type.Integer({ description: "Number of jobs.", minimum: 0 })),
    conditions: Type.Optional(Conditions()),
  },
  { description: "Whether it compiles." },
);
export type WorkflowStatus = Static<typeof WorkflowStatus>;

export const ActionStatus = Type.Object(
  {
    observedGeneration: ObservedGeneration(),
    steps: Type.Optional(Type.Integer({ description: "Number of steps.", minimum: 0 })),
    conditions: Type.Optional(Conditions()),
  },
  { description: "Whether it compiles." },
);
export type ActionStatus = Static<typeof ActionStatus>;

export interface Workflow extends Resource<WorkflowSpec, WorkflowStatus> {}
export interface Action extends Resource<ActionSpec, ActionStatus> {}
