import type { Run } from "#api/kinds/run.ts";
import { labels } from "#api/labels.ts";
import { runs } from "#api/resources.ts";
import { runPhases } from "#api/run-phases.ts";
import { conditionOf, pods } from "#kube/builtin.ts";
import { listAll } from "#kube/client.ts";
import { inCluster } from "../cluster/session.ts";
import { type AddCommand, withExamples } from "../commands/command.ts";
import { exitCodes } from "../exit-codes.ts";
import { fields } from "../output/describe-run.ts";
import { logOf, requireRunning, stateDirectory } from "./state-directory.ts";
import { type StateFlags, withStateOption } from "./state-option.ts";

/** `krt local status` */
export const addStatus: AddCommand = (parent, env, end) => {
  const command = parent
    .command("status")
    .summary("tell where the cluster is and what runs in it")
    .description("Tells address, process, Pods and Runs of the cluster; fails when it does not run.")
    .action(async (flags: StateFlags) => {
      const directory = stateDirectory(flags.stateDir, env.variables);
      const { pid, server = "(it starts)", kubeconfig } = requireRunning(directory, env);
      const where = [
        ["Address", server],
        ["Process", pid],
        ["Directory", directory],
        ["Kubeconfig", kubeconfig],
        ["Log", logOf(directory)],
      ] as const;
      const what = await inCluster({ kubeconfig }, env, async ({ client }) => {
        const [allPods, allRuns] = await Promise.all([
          listAll(client.of(pods), { labelSelector: labels.runtime }),
          listAll(client.of(runs), { limit: 1000 }),
        ]);
        const ready = allPods.items.filter((pod) => conditionOf(pod.status?.conditions, "Ready")?.status === "True");
        return [
          ["Pods", `${ready.length} ready of ${allPods.items.length}`],
          ["Runs", countsOf(allRuns.items)],
        ] as const;
      });
      env.out.write(
        fields([...where, ...what])
          .map((line) => `${line}\n`)
          .join(""),
      );
      end(exitCodes.succeeded);
    });
  withExamples(withStateOption(command), env, "local status", [
    ["The cluster of the default directory", "local status"],
  ]);
};

/** `12: 1 Running, 11 Succeeded` */
function countsOf(all: readonly Run[]): string {
  const counts = Map.groupBy(all, ({ status }) => status?.phase ?? "Pending");
  const parts = runPhases.flatMap((phase) => (counts.has(phase) ? [`${counts.get(phase)?.length} ${phase}`] : []));
  return parts.length === 0 ? "none" : `${all.length}: ${parts.join(", ")}`;
}
