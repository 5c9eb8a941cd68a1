import type { KubeObject } from "#api/meta.ts";
import { runs } from "#api/resources.ts";
import type { ResourceType } from "#kube/resource.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { inCluster, type Session } from "../cluster/session.ts";
import { forEachName } from "../cluster/several.ts";
import type { ExitCode } from "../exit-codes.ts";
import { type Format, formatHelp, parseFormat, show } from "../output/format.ts";
import { type AddCommand, withExamples } from "./command.ts";

interface Flags extends ClusterFlags {
  readonly output?: string;
}

/** `krt get NAME...` */
export const addGet: AddCommand = (parent, env, end) => {
  const command = parent
    .command("get")
    .summary("show Runs by name")
    .description("Shows Runs by name, as a table or as data.")
    .argument("<NAME...>", "names of Runs")
    .option("-o, --output <format>", formatHelp)
    .action(async (names: string[], flags: Flags) => {
      const format = parseFormat(flags.output);
      end(await inCluster(flags, env, (session) => getNamed(runs, names, format, session)));
    });
  withExamples(withClusterOptions(command), env, "get", [
    ["A Run with everything that the cluster knows of it", "get hello -o yaml"],
    ["A value that it handed back", "get hello -o jsonpath='{.status.outputs.version}'"],
  ]);
};

/** Shows the objects of these names; tells of each that is not there. */
export async function getNamed<T extends KubeObject>(
  resource: ResourceType<T>,
  names: readonly string[],
  format: Format,
  session: Session,
): Promise<ExitCode> {
  const { client, namespace, env } = session;
  const found: T[] = [];
  const code = await forEachName(resource, names, session, async (name) => {
    found.push(await client.of(resource).get({ name, namespace }));
    return undefined;
  });
  if (found.length > 0) {
    env.out.write(await show(found, { resource, format, now: env.clock.now(), list: new Set(names).size > 1 }));
  }
  return code;
}
