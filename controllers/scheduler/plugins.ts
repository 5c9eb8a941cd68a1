import { capacity } from "./filters/capacity.ts";
import { podAvailable } from "./filters/pod-available.ts";
import { references } from "./filters/references.ts";
import { runAffinity } from "./filters/run-affinity.ts";
import { workspacePod } from "./filters/workspace.ts";
import type { Plugins } from "./framework.ts";
import { leastLoaded } from "./scores/least-loaded.ts";
import { preferredAffinity } from "./scores/preferred-affinity.ts";
import { responsive } from "./scores/responsive.ts";

/** Capacity is the last filter: a Pod that it refuses would do if it were empty, so freed capacity there can help. */
export const defaultPlugins: Plugins = {
  filters: [podAvailable, workspacePod, references, runAffinity, capacity],
  scores: [responsive, preferredAffinity, leastLoaded],
};
