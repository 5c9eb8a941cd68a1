import { type Static, Type } from "@sinclair/typebox";
import type { Resource } from "../meta.ts";
import { Conditions, Enum, immutable, MapOf, ObjectName, ObservedGeneration, Opaque, Time } from "../schema.ts";

export const workflowActionPhases = ["Pending", "Succeeded", "Failed"] as const;

/** What the workflow controller can do; `spec.action` is open for more. */
export const workflowActionVerbs = ["Suspend", "Resume", "Stop", "Terminate", "Retry"] as const;
export type WorkflowActionVerb = (typeof workflowActionVerbs)[number];

const Selector = () =>
  Type.Optional(
    Type.String({ description: "Field selector over jobs and steps, e.g. `name=deploy/approve`.", maxLength: 1024 }),
  );

export const WorkflowActionSpec = Type.Object(
  {
    workflowRef: Type.Object(
      {
        name: ObjectName("WorkflowRun of the same namespace."),
        uid: Type.Optional(Type.String({ description: "Pins the target across reuse of its name.", maxLength: 64 })),
      },
      { description: "The target." },
    ),
    action: Type.String({
      description: "Suspend, Resume, Stop, Terminate or Retry; others are refused by the controller.",
      maxLength: 63,
      pattern: "^[A-Za-z]{1,63}$",
      "x-kubernetes-validations": [
        {
          rule: `!(self in [${workflowActionVerbs.map((verb) => `'${verb.toLowerCase()}'`).join(", ")}])`,
          message: "an action begins with a capital letter: Suspend, Resume, Stop, Terminate or Retry",
        },
      ],
    }),
    resume: Type.Optional(
      Type.Object(
        {
          nodeFieldSelector: Selector(),
          outputParameters: Type.Optional(
            MapOf(Type.String({ maxLength: 8192 }), { description: "Values for the gate.", maxProperties: 64 }),
          ),
        },
        {
          description: "Parameters of Resume.",
          "x-kubernetes-validations": [
            {
              rule: "!has(self.outputParameters) || has(self.nodeFieldSelector)",
              message: "outputParameters need nodeFieldSelector",
            },
          ],
        },
      ),
    ),
    stop: Type.Optional(
      Type.Object(
        {
          message: Type.Optional(Type.String({ description: "Why.", maxLength: 1024 })),
          nodeFieldSelector: Selector(),
        },
        { description: "Parameters of Stop." },
      ),
    ),
    retry: Type.Optional(
      Type.Object(
        {
          nodeFieldSelector: Selector(),
          restartSuccessful: Type.Optional(Type.Boolean({ description: "Also restart jobs that succeeded." })),
          inputs: Type.Optional(
            Opaque({ description: "Inputs that get another value from now on, by name.", maxProperties: 64 }),
          ),
        },
        {
          description: "Parameters of Retry.",
          "x-kubernetes-validations": [
            {
              rule: "!has(self.restartSuccessful) || !self.restartSuccessful || has(self.nodeFieldSelector)",
              message: "restartSuccessful needs nodeFieldSelector",
            },
          ],
        },
      ),
    ),
  },
  {
    description: "A request to the workflow controller.",
    "x-kubernetes-validations": [
      {
        rule: "!has(self.resume) || self.action == 'Resume'",
        message: "resume needs action Resume",
        fieldPath: ".resume",
      },
      { rule: "!has(self.stop) || self.action == 'Stop'", message: "stop needs action Stop", fieldPath: ".stop" },
      { rule: "!has(self.retry) || self.action == 'Retry'", message: "retry needs action Retry", fieldPath: ".retry" },
      ...immutable("workflowRef", "action", "resume", "stop", "retry"),
    ],
  },
);
export type WorkflowActionSpec = Static<typeof WorkflowActionSpec>;

export const WorkflowActionStatus = Type.Object(
  {
    phase: Enum(workflowActionPhases, { description: "Outcome." }),
    observedGeneration: ObservedGeneration(),
    reason: Type.Optional(Type.String({ description: "One word from the reasons registry.", maxLength: 63 })),
    message: Type.Optional(Type.String({ description: "A sentence for people.", maxLength: 4096 })),
    completionTime: Type.Optional(Time("When it ended.")),
    resultingWorkflow: Type.Optional(
      Type.Object(
        {
          name: ObjectName("Name."),
          uid: Type.Optional(Type.String({ description: "UID.", maxLength: 64 })),
        },
        { description: "Reserved: the object that a Retry re-created." },
      ),
    ),
    conditions: Type.Optional(Conditions()),
  },
  { description: "What became of it.", default: { phase: "Pending" } },
);
export type WorkflowActionStatus = Static<typeof WorkflowActionStatus>;

export interface WorkflowAction extends Resource<WorkflowActionSpec, WorkflowActionStatus> {}
