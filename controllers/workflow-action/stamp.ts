import { jsonEqual } from "#api/json.ts";
import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import { annotations, labels } from "#api/labels.ts";
import type { ObjectMeta } from "#api/meta.ts";
import { labelValue } from "#api/names.ts";

/**
 * The patch that says on a WorkflowRun what was done with it last, and by whom; undefined when it says so already. Both are replaced
 * together: an action that names nobody takes the old actor away. It is a trace for people, since whoever creates an action can
 * write anything there; the audit log of the cluster is the record to trust.
 */
export function stamp(target: { readonly metadata: ObjectMeta }, action: WorkflowAction): object | undefined {
  const full = action.metadata.annotations?.[annotations.creator] ?? action.metadata.labels?.[labels.creator];
  const wanted = {
    labels: { [labels.action]: action.spec.action, [labels.actor]: full === undefined ? null : labelValue(full) },
    annotations: { [annotations.actor]: full ?? null },
  };
  const now = {
    labels: {
      [labels.action]: target.metadata.labels?.[labels.action] ?? null,
      [labels.actor]: target.metadata.labels?.[labels.actor] ?? null,
    },
    annotations: { [annotations.actor]: target.metadata.annotations?.[annotations.actor] ?? null },
  };
  return jsonEqual(wanted, now) ? undefined : { metadata: { uid: target.metadata.uid, ...wanted } };
}
