import type { Run } from "#api/kinds/run.ts";
import { runs } from "#api/resources.ts";
import { requireRuntime } from "./needed-runtimes.ts";
import type { Session } from "./session.ts";

/**
 * Creates a Run in the namespace of the session.
 *
 * @throws StatusError 404 about the Runtime when there is none of that name: the Run would only wait for it
 */
export async function submitRun(run: Run, session: Session): Promise<Run> {
  await requireRuntime(run.spec.runtime, session);
  const { client, namespace } = session;
  const metadata = { ...run.metadata, namespace };
  return client.of(runs).create({ ...run, metadata }, { fieldValidation: "Strict" });
}
