import { runs, workflowRuns } from "#api/resources.ts";
import { type ArtifactEntry, artifactsOfRun, artifactsOfWorkflowRun } from "#extension-api/client/artifact-refs.ts";
import { isNotFound } from "#kube/transport.ts";
import { suggestion } from "../closest.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { bareName } from "./object-name.ts";
import type { Session } from "./session.ts";

/**
 * The artifacts of a Run or, where there is no Run of that name, of a WorkflowRun.
 *
 * @throws StatusError 404 about the Run when there is neither
 */
export async function artifactsOf(text: string, { client, namespace }: Session): Promise<ArtifactEntry[]> {
  const name = bareName(workflowRuns, bareName(runs, text));
  const ref = { name, namespace };
  try {
    return artifactsOfRun(await client.of(runs).get(ref));
  } catch (missing) {
    if (!isNotFound(missing)) throw missing;
    try {
      return artifactsOfWorkflowRun(await client.of(workflowRuns).get(ref));
    } catch (error) {
      throw isNotFound(error) ? missing : error;
    }
  }
}

/** How an artifact is named on the command line: with its job, where that is needed to tell it apart. */
export const longName = ({ name, job }: ArtifactEntry): string => (job === undefined ? name : `${job}/${name}`);

/** The artifact of a name. @throws CliError when there is none, or several */
export function pickArtifact(entries: readonly ArtifactEntry[], name: string, holder: string): ArtifactEntry {
  const found = entries.filter((entry) => entry.name === name || longName(entry) === name);
  const [first] = found;
  if (first !== undefined && found.length === 1) return first;
  const names = entries.map(longName);
  if (first !== undefined) {
    throw new CliError(`${holder} has several artifacts ${name}`, {
      advice: `Write ${found.map(longName).join(" or ")}.`,
    });
  }
  const there = names.length === 0 ? "It has none at all." : `It has ${names.join(", ")}.`;
  throw new CliError(`${holder} has no artifact ${name}`, {
    advice: suggestion(name, [...names, ...entries.map((entry) => entry.name)]) ?? there,
    exitCode: exitCodes.refused,
  });
}
