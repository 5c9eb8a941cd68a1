import type { Filter } from "../framework.ts";

/**
 * A Secret or ConfigMap that the Runtime lists is mounted into Pods that were made since. A Run that refers to it waits for one
 * of these. What the Runtime does not list no Pod will ever have, and the agent of any says so; so does that of the one Pod
 * that holds the workspace of a Run.
 */
export const references: Filter = {
  name: "references",
  filter(run, pod, { runtime, workspace }) {
    if (run.references.length === 0 || workspace !== undefined) return undefined;
    const has = pod.view?.references ?? [];
    const late = run.references.find((one) => !has.includes(one) && runtime?.references.includes(one));
    if (late === undefined) return undefined;
    return { reason: "NoReadyPods", message: `from before the Runtime listed ${late.replace("/", " ")}` };
  },
};
