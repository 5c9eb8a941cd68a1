import { runComponent, untilAborted } from "#kube/process/component.ts";
import { componentFlagNames, componentFlags, parseStrings } from "#kube/process/flags.ts";
import { shutdownSignal } from "#kube/process/signals.ts";
import { createLogger, systemClock, systemRandom } from "#kube/system.ts";
import { createScheduler } from "./controller.ts";
import { schedulerExposition } from "./exposition.ts";

/** `kruntimes scheduler`: places Runs on the Pods of Runtimes, in all namespaces. */
export async function main(args: readonly string[]): Promise<void> {
  const name = "scheduler";
  const flags = componentFlags(name, parseStrings(name, componentFlagNames, args), process.env);
  const logger = createLogger(name, flags.logLevel);
  const asked = await runComponent({
    name,
    flags,
    env: process.env,
    clock: systemClock,
    random: systemRandom,
    logger,
    shutdown: shutdownSignal(logger),
    async work({ signal, started, showMetrics, ...deps }) {
      const scheduler = createScheduler(deps);
      showMetrics(() => schedulerExposition(scheduler.metrics()));
      await scheduler.start(signal);
      started();
      await untilAborted(signal);
      await scheduler.stop();
    },
  });
  process.exit(asked ? 0 : 1);
}
