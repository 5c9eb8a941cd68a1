import { type Static, Type } from "@sinclair/typebox";
import type { Resource } from "../meta.ts";
import { Conditions, Enum, immutable, LabelName, ObservedGeneration, Time } from "../schema.ts";

export const workspacePhases = ["Pending", "Bound", "Lost", "Released"] as const;

export const PersistentWorkspaceSpec = Type.Object(
  {
    runtime: LabelName("The Runtime whose workspace volume holds it."),
    mode: Type.Optional(
      Enum(["RuntimePodLocal"], {
        description: "RuntimePodLocal: a directory on one Runtime Pod.",
        default: "RuntimePodLocal",
      }),
    ),
    ttlSecondsAfterUnused: Type.Optional(
      Type.Integer({ description: "Deleted after this time unused; absent means never.", minimum: 0, format: "int32" }),
    ),
    cleanupPolicy: Type.Optional(
      Enum(["DeleteAfterTTL", "Retain"], {
        description: "Retain switches the automatic deletion off.",
        default: "DeleteAfterTTL",
      }),
    ),
  },
  {
    description:
      "A directory that several Runs share. All who use it must trust each other: it is no isolation between hostile users.",
    "x-kubernetes-validations": immutable("runtime", "mode"),
  },
);
export type PersistentWorkspaceSpec = Static<typeof PersistentWorkspaceSpec>;

export const PersistentWorkspaceStatus = Type.Object(
  {
    phase: Enum(workspacePhases, { description: "Lost is final; a Released workspace takes no new Run." }),
    observedGeneration: ObservedGeneration(),
    reason: Type.Optional(Type.String({ description: "One word from the reasons registry.", maxLength: 63 })),
    message: Type.Optional(Type.String({ description: "A sentence for people.", maxLength: 4096 })),
    runtime: Type.Optional(Type.String({ description: "The Runtime it was bound for.", maxLength: 63 })),
    boundPod: Type.Optional(Type.String({ description: "Pod that holds the directory.", maxLength: 253 })),
    boundPodUID: Type.Optional(Type.String({ description: "UID of that Pod; never changes.", maxLength: 64 })),
    path: Type.Optional(Type.String({ description: "The directory in the Pod.", maxLength: 4096 })),
    boundTime: Type.Optional(Time("When it was bound; the first unused interval counts from here.")),
    lastUsedTime: Type.Optional(Time("When the last Run that used it ended.")),
    activeRuns: Type.Optional(Type.Integer({ description: "Runs that refer to it and have not ended.", minimum: 0 })),
    conditions: Type.Optional(Conditions()),
  },
  {
    description: "Where it is bound and how it is used.",
    default: { phase: "Pending" },
    "x-kubernetes-validations": [
      {
        rule: "!has(oldSelf.boundPodUID) || (has(self.boundPodUID) && self.boundPodUID == oldSelf.boundPodUID)",
        message: "boundPodUID cannot be changed",
        fieldPath: ".boundPodUID",
      },
    ],
  },
);
export type PersistentWorkspaceStatus = Static<typeof PersistentWorkspaceStatus>;

export interface PersistentWorkspace extends Resource<PersistentWorkspaceSpec, PersistentWorkspaceStatus> {}
