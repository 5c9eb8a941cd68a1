import { neededFlag, parseStrings, type ServingFlags, servingFlagNames, servingFlags } from "#kube/process/flags.ts";

export interface WebhookFlags extends ServingFlags {
  /** User name of the controller: `system:serviceaccount:NAMESPACE:NAME`. */
  readonly controller: string;
}

/** The command line of the webhook, as the chart writes it. */
export function parseFlags(args: readonly string[]): WebhookFlags {
  const component = "webhook";
  const values = parseStrings(component, [...servingFlagNames, "controller-username"], args);
  return {
    ...servingFlags(component, values, 9443),
    controller: neededFlag(component, "controller-username", values["controller-username"]),
  };
}
