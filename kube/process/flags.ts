import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import type { CertificateFiles } from "./certificate-files.ts";

/** The command line, or the environment, of a component is wrong. The message is for the operator; no stack helps. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  constructor(component: string, message: string) {
    super(`kruntimes ${component}: ${message}`);
  }
}

/** What every component that runs in a Deployment takes. */
export interface ComponentFlags {
  /** Port of probes and metrics. */
  readonly port: number;
  /** Whether replicas agree on one that works. */
  readonly leaderElect: boolean;
  /** Namespace of the component: its Lease is there. */
  readonly namespace: string;
  readonly logLevel: "debug" | "info" | "warn" | "error";
}

const logLevels = ["debug", "info", "warn", "error"] as const;

/**
 * Parses a command line of `--name=value` flags only.
 * @throws UsageError that names the component, the flag at fault, and the flags that there are
 */
export function parseStrings<const N extends string>(
  component: string,
  names: readonly N[],
  args: readonly string[],
): Partial<Record<N, string>> {
  const options: ParseArgsOptionsConfig = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  try {
    return parseArgs({ args: [...args], options }).values as Partial<Record<N, string>>;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(component, `${message}; flags are ${names.map((name) => `--${name}`).join(", ")}`);
  }
}

export const componentFlagNames = ["port", "leader-elect", "namespace", "log-level"] as const;

/** The common flags out of parsed ones; the namespace is that of the Pod unless a flag says otherwise. */
export function componentFlags(
  component: string,
  values: Partial<Record<(typeof componentFlagNames)[number], string>>,
  env: Readonly<Record<string, string | undefined>>,
): ComponentFlags {
  return {
    port: portFlag(component, "port", values.port ?? "8080"),
    leaderElect: booleanFlag(component, "leader-elect", values["leader-elect"] ?? "true"),
    namespace: neededFlag(
      component,
      "namespace (or the variable POD_NAMESPACE)",
      values.namespace ?? env.POD_NAMESPACE,
    ),
    logLevel: choiceFlag(component, "log-level", values["log-level"] ?? "info", logLevels),
  };
}

/** What every component takes whose replicas all serve over TLS. */
export interface ServingFlags {
  /** Port that it serves on. */
  readonly port: number;
  /** Port of probes and metrics. */
  readonly probePort: number;
  readonly certificate: CertificateFiles;
  readonly logLevel: ComponentFlags["logLevel"];
}

export const servingFlagNames = ["port", "probe-port", "tls-cert-file", "tls-key-file", "log-level"] as const;

/** The flags of a serving component out of parsed ones. */
export function servingFlags(
  component: string,
  values: Partial<Record<(typeof servingFlagNames)[number], string>>,
  defaultPort: number,
): ServingFlags {
  return {
    port: portFlag(component, "port", values.port ?? String(defaultPort)),
    probePort: portFlag(component, "probe-port", values["probe-port"] ?? "8080"),
    certificate: {
      cert: neededFlag(component, "tls-cert-file", values["tls-cert-file"]),
      key: neededFlag(component, "tls-key-file", values["tls-key-file"]),
    },
    logLevel: choiceFlag(component, "log-level", values["log-level"] ?? "info", logLevels),
  };
}

export function neededFlag(component: string, name: string, value: string | undefined): string {
  if (value === undefined || value === "") throw new UsageError(component, `--${name} is missing`);
  return value;
}

export function portFlag(component: string, name: string, value: string): number {
  const port = Number(value);
  if (!/^[0-9]+$/.test(value) || port > 65_535) {
    throw new UsageError(component, `--${name}=${value} is no port; write a number from 0 (any) to 65535`);
  }
  return port;
}

export function choiceFlag<const C extends string>(
  component: string,
  name: string,
  value: string,
  choices: readonly C[],
): C {
  const choice = choices.find((one) => one === value);
  if (choice !== undefined) return choice;
  throw new UsageError(component, `--${name}=${value} is unknown; one of ${choices.join(", ")}`);
}

const booleanFlag = (component: string, name: string, value: string): boolean =>
  choiceFlag(component, name, value, ["true", "false"]) === "true";
