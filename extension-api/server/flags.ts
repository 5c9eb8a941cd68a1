import { parseStrings, type ServingFlags, servingFlagNames, servingFlags } from "#kube/process/flags.ts";

/** The command line of the run-extension-api, as the chart writes it. */
export function parseFlags(args: readonly string[]): ServingFlags {
  const component = "run-extension-api";
  return servingFlags(component, parseStrings(component, servingFlagNames, args), 8443);
}
