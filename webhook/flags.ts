import type { CertificateFiles } from "#kube/process/certificate-files.ts";
import { choiceFlag, neededFlag, parseStrings, portFlag } from "#kube/process/flags.ts";

export interface WebhookFlags {
  /** Port of the webhook itself. */
  readonly port: number;
  /** Port of probes and metrics. */
  readonly probePort: number;
  readonly certificate: CertificateFiles;
  /** User name of the controller: `system:serviceaccount:NAMESPACE:NAME`. */
  readonly controller: string;
  readonly logLevel: "debug" | "info" | "warn" | "error";
}

/** The command line of the webhook, as the chart writes it. */
export function parseFlags(args: readonly string[]): WebhookFlags {
  const component = "webhook";
  const names = ["port", "probe-port", "tls-cert-file", "tls-key-file", "controller-username", "log-level"] as const;
  const values = parseStrings(component, names, args);
  return {
    port: portFlag(component, "port", values.port ?? "9443"),
    probePort: portFlag(component, "probe-port", values["probe-port"] ?? "8080"),
    certificate: {
      cert: neededFlag(component, "tls-cert-file", values["tls-cert-file"]),
      key: neededFlag(component, "tls-key-file", values["tls-key-file"]),
    },
    controller: neededFlag(component, "controller-username", values["controller-username"]),
    logLevel: choiceFlag(component, "log-level", values["log-level"] ?? "info", ["debug", "info", "warn", "error"]),
  };
}
