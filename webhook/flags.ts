import { neededFlag, parseStrings, type ServingFlags, servingFlagNames, servingFlags } from "#kube/process/flags.ts";

export interface WebhookFlags extends ServingFlags {
  /** User name of the controller: `system:serviceaccount:NAMESPACE:NAME`. */
  readonly controller: string;
}

/**
 * The command line of the webhook, as the chart writes it. With `--client-ca-file` only callers with a certificate of that authority
 * are answered: the API server, when its AdmissionConfiguration gives it one.
 */
export function parseFlags(args: readonly string[]): WebhookFlags {
  const component = "webhook";
  const values = parseStrings(component, [...servingFlagNames, "controller-username", "client-ca-file"], args);
  const serving = servingFlags(component, values, 9443);
  const clientCa = values["client-ca-file"];
  return {
    ...serving,
    ...(clientCa === undefined ? {} : { certificate: { ...serving.certificate, clientCa } }),
    controller: neededFlag(component, "controller-username", values["controller-username"]),
  };
}
