import { namespaces } from "#kube/builtin.ts";
import { runComponent, untilAborted } from "#kube/process/component.ts";
import { shutdownSignal } from "#kube/process/signals.ts";
import { createLogger, systemClock, systemRandom } from "#kube/system.ts";
import { controllerExposition } from "./exposition.ts";
import { parseFlags } from "./flags.ts";
import { createControllers } from "./index.ts";
import { createTally } from "./tally.ts";

/** `kruntimes controller`: everything between the objects that users write and the Pods that run them. */
export async function main(args: readonly string[]): Promise<void> {
  const flags = parseFlags(args, process.env);
  const logger = createLogger("controller", flags.component.logLevel);
  const asked = await runComponent({
    name: "controller",
    flags: flags.component,
    env: process.env,
    clock: systemClock,
    random: systemRandom,
    logger,
    shutdown: shutdownSignal(logger),
    async work({ signal, started, showMetrics, ...deps }) {
      // Its UID stands for the cluster: it marks the artifacts of the cluster in a store that others may share.
      const system = await deps.client.of(namespaces).get({ name: "kube-system" }, signal);
      const tally = createTally();
      const controllers = createControllers(
        { ...deps, tally },
        {
          pool: { ...flags.pool, clusterUid: system.metadata.uid ?? "" },
          workflow: { workspaceTtlSeconds: flags.workspaceTtlSeconds, deprecatedFields: flags.deprecatedFields },
          actions: { ttlSeconds: flags.actionTtlSeconds },
        },
      );
      showMetrics(() => controllerExposition(controllers.all, tally));
      try {
        await controllers.start(signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
      started();
      await untilAborted(signal);
      await controllers.stop();
    },
  });
  process.exit(asked ? 0 : 1);
}
