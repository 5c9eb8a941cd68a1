import type { Command } from "commander";

/** How a command finds its cluster: the flags of kubectl. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
}

/** Adds the flags that choose cluster and namespace. */
export function withClusterOptions(command: Command): Command {
  return command
    .option("-n, --namespace <name>", "namespace (default: that of the context)")
    .option("--context <name>", "context of the kubeconfig (default: the current one)")
    .option(
      "--kubeconfig <file>",
      "kubeconfig (default: $KUBECONFIG, ~/.kube/config, or the service account of a Pod)",
    );
}
