import { type AddCommand, withExamples } from "../commands/command.ts";
import { exitCodes } from "../exit-codes.ts";
import { stateDirectory } from "./state-directory.ts";
import { type StateFlags, withStateOption } from "./state-option.ts";
import { stopLocal } from "./stop.ts";

/** `krt local down` */
export const addDown: AddCommand = (parent, env, end) => {
  const command = parent
    .command("down")
    .summary("stop the cluster; it keeps its state")
    .description("Stops the cluster and everything that runs in it. The next `up` goes on with what it knew.")
    .action(async (flags: StateFlags) => {
      const directory = stateDirectory(flags.stateDir, env.variables);
      const stopped = await stopLocal(directory, env);
      env.out.write(stopped ? `Stopped the cluster on ${directory}\n` : `No cluster runs on ${directory}\n`);
      end(exitCodes.succeeded);
    });
  withExamples(withStateOption(command), env, "local down", [["The cluster of the default directory", "local down"]]);
};
