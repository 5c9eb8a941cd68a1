import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { inCluster } from "../cluster/session.ts";
import { exitCodes } from "../exit-codes.ts";
import { type AddCommand, withExamples } from "./command.ts";

interface Flags extends ClusterFlags {
  readonly client?: true;
}

/** `krt version` */
export const addVersion: AddCommand = (parent, env, end) => {
  const command = parent
    .command("version")
    .summary("show the versions of krt and of the cluster")
    .description("Shows the version of this program, and of the Kubernetes that it talks to.")
    .option("--client", "only of this program")
    .action(async (flags: Flags) => {
      env.out.write(`krt ${env.version}\n`);
      if (!flags.client) {
        await inCluster(flags, env, async ({ client, server }) => {
          const answer = await client.transport.request<{ gitVersion?: string }>({ method: "GET", path: "/version" });
          env.out.write(`Kubernetes ${answer.gitVersion ?? "of an unknown version"} at ${server}\n`);
        });
      }
      end(exitCodes.succeeded);
    });
  withExamples(withClusterOptions(command), env, "version", [["Without a cluster", "version --client"]]);
};
