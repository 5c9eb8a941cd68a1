import type { Run } from "#api/kinds/run.ts";
import { runs, runtimes } from "#api/resources.ts";
import { isNotFound } from "#kube/transport.ts";
import type { Session } from "./session.ts";

/**
 * Creates a Run in the namespace of the session.
 *
 * @throws StatusError 404 about the Runtime when there is none of that name: the Run would only wait for it
 */
export async function submitRun(run: Run, { client, namespace }: Session): Promise<Run> {
  try {
    await client.of(runtimes).get({ name: run.spec.runtime, namespace });
  } catch (error) {
    // Who may not look at Runtimes may still use them.
    if (isNotFound(error)) throw error;
  }
  const metadata = { ...run.metadata, namespace };
  return client.of(runs).create({ ...run, metadata }, { fieldValidation: "Strict" });
}
