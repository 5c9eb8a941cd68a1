import { labels } from "#api/labels.ts";
import { podContainers } from "#api/pod-layout.ts";
import { conditionOf, type Pod, pods } from "#kube/builtin.ts";
import { listAll } from "#kube/client.ts";
import type { Client } from "#kube/resource.ts";
import { age } from "#local/table/human-duration.ts";
import { suggestion } from "../closest.ts";
import { inCluster } from "../cluster/session.ts";
import { type AddCommand, withExamples } from "../commands/command.ts";
import type { Environment } from "../environment.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { tableLines } from "../output/table.ts";
import { requireRunning, stateDirectory } from "./state-directory.ts";
import { type StateFlags, withStateOption } from "./state-option.ts";

interface KillFlags extends StateFlags {
  readonly container?: string;
}

/** What runs in each container. */
const components: Readonly<Record<string, string>> = {
  [podContainers.runtime]: "executor",
  [podContainers.agent]: "agent",
};

/** `krt local pod list`, `krt local pod kill POD` */
export const addPod: AddCommand = (parent, env, end) => {
  const pod = parent.command("pod").description("Pods of the cluster, and how to lose them: for drills");
  pod.showHelpAfterError(`     See ${env.invokedAs} local pod --help.`);
  const list = pod
    .command("list")
    .alias("ls")
    .description("Lists the Pods of all Runtimes.")
    .action(async (flags: StateFlags) => {
      await withPods(flags, env, async (_client, all) => {
        const rows = all.map((one) => rowOf(one, env.clock.now()));
        const lines = tableLines(["NAMESPACE", "NAME", "RUNTIME", "READY", "STATUS", "RESTARTS", "AGE"], rows);
        if (rows.length === 0) env.err.write("There is no Pod; make a Runtime first.\n");
        else env.out.write(lines.map((line) => `${line}\n`).join(""));
      });
      end(exitCodes.succeeded);
    });
  withExamples(withStateOption(list), env, "local pod list", [["All Pods", "local pod list"]]);

  const kill = pod
    .command("kill")
    .description(
      "Loses a Pod at once, as the loss of its node would; with --container only that one crashes and is restarted.",
    )
    .argument("<POD>", "name of the Pod")
    .option("-c, --container <name>", `only this container: ${Object.keys(components).join(" or ")}`)
    .action(async (name: string, flags: KillFlags) => {
      const component = componentOf(flags.container);
      await withPods(flags, env, async (client, all) => {
        const found = findPod(name, all);
        if (component === undefined) await killPod(found, client);
        else await crash(found, component, flags.container ?? "", env);
      });
      env.out.write(
        flags.container === undefined
          ? `Pod ${name} is gone\n`
          : `Container ${flags.container} of Pod ${name} was killed\n`,
      );
      end(exitCodes.succeeded);
    });
  withExamples(withStateOption(kill), env, "local pod kill", [
    ["The whole Pod", "local pod kill runtime-bash-1a2b3c4d-xyz12"],
    ["Only its agent", "local pod kill runtime-bash-1a2b3c4d-xyz12 --container runtimed"],
  ]);
};

function withPods(
  flags: StateFlags,
  env: Environment,
  work: (client: Client, all: readonly Pod[]) => Promise<void>,
): Promise<void> {
  const { kubeconfig } = requireRunning(stateDirectory(flags.stateDir, env.variables), env);
  return inCluster({ kubeconfig }, env, async ({ client }) => {
    const { items } = await listAll(client.of(pods), { labelSelector: labels.runtime });
    await work(client, items);
  });
}

function rowOf({ metadata, status }: Pod, now: number): string[] {
  const containers = status?.containerStatuses ?? [];
  const all = [...(status?.initContainerStatuses ?? []), ...containers];
  return [
    metadata.namespace ?? "",
    metadata.name,
    metadata.labels?.[labels.runtime] ?? "",
    conditionOf(status?.conditions, "Ready")?.status === "True" ? "yes" : "no",
    metadata.deletionTimestamp === undefined ? (status?.phase ?? "Pending") : "Terminating",
    String(all.reduce((sum, { restartCount }) => sum + restartCount, 0)),
    age(metadata.creationTimestamp, now),
  ];
}

function componentOf(container: string | undefined): string | undefined {
  if (container === undefined) return undefined;
  const component = Object.hasOwn(components, container) ? components[container] : undefined;
  if (component !== undefined) return component;
  const known = Object.keys(components);
  throw new CliError(`Pods have no container ${container} that runs`, {
    advice: suggestion(container, known) ?? `They have ${known.join(" and ")}.`,
  });
}

function findPod(name: string, all: readonly Pod[]): Pod {
  const found = all.find(({ metadata }) => metadata.name === name);
  if (found !== undefined) return found;
  const names = all.map(({ metadata }) => metadata.name);
  const there = names.length === 0 ? "There is none at all." : `There are ${names.join(", ")}.`;
  throw new CliError(`there is no Pod ${name}`, {
    advice: suggestion(name, names) ?? there,
    exitCode: exitCodes.refused,
  });
}

async function killPod({ metadata: { name, namespace, uid } }: Pod, client: Client): Promise<void> {
  await client.of(pods).delete({ name, namespace }, { gracePeriodSeconds: 0, preconditions: { uid } });
}

async function crash(
  { metadata: { name, uid = "" } }: Pod,
  component: string,
  container: string,
  { machine }: Environment,
) {
  if ((await machine.crash(uid, component)) > 0) return;
  throw new CliError(`container ${container} of Pod ${name} has no process now`, {
    advice: "It may just be restarted: try again.",
    exitCode: exitCodes.failed,
  });
}
