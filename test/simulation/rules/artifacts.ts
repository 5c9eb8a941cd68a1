import { runs, workflowRuns } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import { runUidOf } from "#runtime/artifacts/location.ts";
import type { World } from "../world.ts";
import type { Report, Rule } from "./rule.ts";

/** Stored bytes go only when their Run is gone and nobody could read them any more. */
export function artifactRules(world: World, report: Report): Rule {
  return {
    removeStored(runUid) {
      const subject = `artifacts of Run ${world.runOf(runUid)?.metadata.name ?? runUid}`;
      const rule = "artifacts go only when nobody refers to them";
      for (const { metadata, spec, status } of world.objects(runs)) {
        if (metadata.uid === runUid) report(rule, subject, "the Run is there");
        const reads = spec.artifactInputs?.some(({ ref }) => runUidOf(ref) === runUid) ?? false;
        if (reads && !isTerminal(status?.phase)) report(rule, subject, `Run ${metadata.name} needs them`);
      }
      for (const { metadata, status } of world.objects(workflowRuns)) {
        const refs = Object.values(status?.jobs ?? {}).flatMap(({ artifacts }) => Object.values(artifacts ?? {}));
        if (refs.some((ref) => runUidOf(ref) === runUid))
          report(rule, subject, `WorkflowRun ${metadata.name} has them`);
      }
    },
  };
}
