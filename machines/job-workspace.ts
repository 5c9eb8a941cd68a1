import { assign } from "xstate";
import { charts } from "./job-parts.ts";
import * as moves from "./job-status.ts";

/** What becomes of a job that is ready and whose workspace is lost, gone, refused or somebody else's: no file can be missed yet. */
export const whileQueued = charts.createStateConfig({
  on: {
    REPLACE_WORKSPACE: [
      {
        guard: "hasNamesLeft",
        actions: [assign(({ context }) => ({ status: moves.renameWorkspace(context.status) })), "createWorkspace"],
        description: "The Pod of its workspace went before anything had run there: a new workspace.",
        meta: { writer: "controller" },
      },
      {
        target: "Failed",
        actions: assign(({ context, event }) => ({
          status: moves.end(context.status, { ...event, reason: "WorkspaceLost" }),
        })),
        description: "Its workspace was lost again and again before anything could run there.",
        meta: { writer: "controller", reason: "WorkspaceLost" },
      },
    ],
    WORKSPACE_MISSING: {
      actions: "createWorkspace",
      description: "The workspace was ordered and is not there: created, again if somebody deleted it.",
      meta: { writer: "controller" },
    },
    NAME_TAKEN: [
      {
        guard: "hasNamesLeft",
        actions: [assign(({ context }) => ({ status: moves.renameWorkspace(context.status) })), "createWorkspace"],
        description: "The name belongs to somebody else's workspace: the next name is tried.",
        meta: { writer: "controller" },
      },
      {
        target: "Failed",
        actions: assign(({ context, event }) => ({
          status: moves.end(context.status, { ...event, reason: "NameCollision" }),
        })),
        description: "Every name belongs to somebody else.",
        meta: { writer: "controller", reason: "NameCollision" },
      },
    ],
    WORKSPACE_REFUSED: {
      target: "Failed",
      actions: assign(({ context, event }) => ({
        status: moves.end(context.status, { ...event, reason: "ChildRefused" }),
      })),
      description: "The API server refused its workspace.",
      meta: { writer: "controller", reason: "ChildRefused" },
    },
  },
}).on;

/** The same for a job at work: files that a step has used cannot be had again, and a step at work is asked to end first. */
export const whileRunning = charts.createStateConfig({
  on: {
    WORKSPACE_LOST: {
      guard: "mustStartAnother",
      target: "Failed",
      actions: assign(({ context, event }) => ({
        status: moves.end(context.status, { ...event, reason: "WorkspaceLost" }),
      })),
      description: "Its files are gone and another step would need them. A step at work may finish first.",
      meta: { writer: "controller", reason: "WorkspaceLost" },
    },
    REPLACE_WORKSPACE: [
      {
        guard: "canReplaceWorkspace",
        actions: [assign(({ context }) => ({ status: moves.renameWorkspace(context.status) })), "createWorkspace"],
        description: "The Pod of its workspace went before anything had run there: a new workspace.",
        meta: { writer: "controller" },
      },
      {
        guard: "onlyFirstStepIsActive",
        target: "Stopping",
        actions: assign(({ context, event }) => ({
          status: moves.stop(context.status, { ...event, reason: "WorkspaceLost" }),
        })),
        description:
          "Its workspace was lost again and again before anything could run there; its step is asked to end.",
        meta: { writer: "controller", reason: "WorkspaceLost" },
      },
      {
        guard: "noStepEnded",
        target: "Failed",
        actions: assign(({ context, event }) => ({
          status: moves.end(context.status, { ...event, reason: "WorkspaceLost" }),
        })),
        description: "Its workspace was lost again and again before anything could run there.",
        meta: { writer: "controller", reason: "WorkspaceLost" },
      },
    ],
    WORKSPACE_MISSING: {
      guard: "noStepEnded",
      actions: "createWorkspace",
      description: "The workspace was ordered and never created (a crash came between): created now.",
      meta: { writer: "controller" },
    },
    NAME_TAKEN: [
      {
        guard: "canReplaceWorkspace",
        actions: [assign(({ context }) => ({ status: moves.renameWorkspace(context.status) })), "createWorkspace"],
        description: "The name belongs to somebody else's workspace: the next name is tried.",
        meta: { writer: "controller" },
      },
      {
        guard: "onlyFirstStepIsActive",
        target: "Stopping",
        actions: assign(({ context, event }) => ({
          status: moves.stop(context.status, { ...event, reason: "NameCollision" }),
        })),
        description: "Every name belongs to somebody else; the step at work is asked to end.",
        meta: { writer: "controller", reason: "NameCollision" },
      },
      {
        guard: "noStepEnded",
        target: "Failed",
        actions: assign(({ context, event }) => ({
          status: moves.end(context.status, { ...event, reason: "NameCollision" }),
        })),
        description: "Every name belongs to somebody else.",
        meta: { writer: "controller", reason: "NameCollision" },
      },
    ],
    WORKSPACE_REFUSED: [
      {
        guard: "aStepIsActive",
        target: "Stopping",
        actions: assign(({ context, event }) => ({
          status: moves.stop(context.status, { ...event, reason: "ChildRefused" }),
        })),
        description: "The API server refused its workspace; the step at work is asked to end.",
        meta: { writer: "controller", reason: "ChildRefused" },
      },
      {
        target: "Failed",
        actions: assign(({ context, event }) => ({
          status: moves.end(context.status, { ...event, reason: "ChildRefused" }),
        })),
        description: "The API server refused its workspace.",
        meta: { writer: "controller", reason: "ChildRefused" },
      },
    ],
  },
}).on;
