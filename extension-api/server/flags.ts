import type { CertificateFiles } from "#kube/process/certificate-files.ts";
import { choiceFlag, neededFlag, parseStrings, portFlag } from "#kube/process/flags.ts";

export interface ExtensionApiFlags {
  /** Port of the API itself. */
  readonly port: number;
  /** Port of probes and metrics. */
  readonly probePort: number;
  readonly certificate: CertificateFiles;
  readonly logLevel: "debug" | "info" | "warn" | "error";
}

/** The command line of the run-extension-api, as the chart writes it. */
export function parseFlags(args: readonly string[]): ExtensionApiFlags {
  const component = "run-extension-api";
  const names = ["port", "probe-port", "tls-cert-file", "tls-key-file", "log-level"] as const;
  const values = parseStrings(component, names, args);
  return {
    port: portFlag(component, "port", values.port ?? "8443"),
    probePort: portFlag(component, "probe-port", values["probe-port"] ?? "8080"),
    certificate: {
      cert: neededFlag(component, "tls-cert-file", values["tls-cert-file"]),
      key: neededFlag(component, "tls-key-file", values["tls-key-file"]),
    },
    logLevel: choiceFlag(component, "log-level", values["log-level"] ?? "info", ["debug", "info", "warn", "error"]),
  };
}
