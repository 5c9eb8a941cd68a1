import { parseDuration } from "#api/duration.ts";
import {
  type ComponentFlags,
  choiceFlag,
  componentFlagNames,
  componentFlags,
  neededFlag,
  parseStrings,
  UsageError,
} from "#kube/process/flags.ts";
import type { ClusterSettings } from "./runtime-pool/index.ts";

export interface ControllerFlags {
  readonly component: ComponentFlags;
  readonly pool: {
    readonly image: string;
    /** Milliseconds between two sweeps of the artifacts of a Runtime. */
    readonly sweepIntervalMs: number;
    readonly cluster: ClusterSettings;
  };
  /** TTL that the workspace of a job gets when the job is over, in seconds. */
  readonly workspaceTtlSeconds: number;
  /** Whether spec.shutdown, and changes of spec.suspend after the start, are obeyed. */
  readonly deprecatedFields: "honour" | "ignore";
  /** How long a WorkflowAction is kept after it was answered, in seconds. */
  readonly actionTtlSeconds: number;
}

const component = "controller";

/** Enough for an idle agent and its transfers; a limit on CPU would delay claims. */
const defaultAgentResources = { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } };

/** The command line of the controller, as the chart writes it. */
export function parseFlags(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ControllerFlags {
  const names = [
    ...componentFlagNames,
    "image",
    "image-pull-policy",
    "image-pull-secrets",
    "agent-role",
    "agent-resources",
    "workspace-ttl",
    "artifact-sweep-interval",
    "action-ttl",
    "deprecated-spec-fields",
  ] as const;
  const values = parseStrings(component, names, args);
  const pullPolicy = values["image-pull-policy"];
  return {
    component: componentFlags(component, values, env),
    pool: {
      image: neededFlag(component, "image", values.image),
      sweepIntervalMs: milliseconds("artifact-sweep-interval", values["artifact-sweep-interval"] ?? "1h"),
      cluster: {
        imagePullPolicy:
          pullPolicy === undefined
            ? undefined
            : choiceFlag(component, "image-pull-policy", pullPolicy, ["Always", "IfNotPresent", "Never"]),
        imagePullSecrets: (values["image-pull-secrets"] ?? "").split(",").filter(Boolean),
        agentRole: neededFlag(component, "agent-role", values["agent-role"]),
        agentResources: resources("agent-resources", values["agent-resources"]),
      },
    },
    workspaceTtlSeconds: seconds("workspace-ttl", values["workspace-ttl"] ?? "1h"),
    deprecatedFields: choiceFlag(component, "deprecated-spec-fields", values["deprecated-spec-fields"] ?? "honour", [
      "honour",
      "ignore",
    ]),
    actionTtlSeconds: seconds("action-ttl", values["action-ttl"] ?? "24h"),
  };
}

function resources(name: string, text: string | undefined): ClusterSettings["agentResources"] {
  if (text === undefined) return defaultAgentResources;
  try {
    const value: unknown = JSON.parse(text);
    if (isResources(value)) return value;
  } catch {
    // said below
  }
  const example = JSON.stringify(defaultAgentResources);
  throw new UsageError(component, `--${name}=${text} is no core/v1 ResourceRequirements as JSON, such as ${example}`);
}

function isResources(value: unknown): value is ClusterSettings["agentResources"] {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).every(
    ([key, amounts]) =>
      (key === "requests" || key === "limits") &&
      typeof amounts === "object" &&
      amounts !== null &&
      Object.values(amounts).every((amount) => typeof amount === "string"),
  );
}

function milliseconds(name: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new UsageError(component, `--${name}=${text} is no duration; write 30m or 1h`);
  return ms;
}

const seconds = (name: string, text: string): number => Math.ceil(milliseconds(name, text) / 1000);
