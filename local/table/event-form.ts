import { getPath } from "#local/apiserver/json.ts";
import { number, text } from "./fields.ts";
import { column, type TableForm } from "./form.ts";
import { age } from "./human-duration.ts";

/** Events; core/v1 and events.k8s.io/v1 call the same things by different names. */
export const eventForm: TableForm = {
  columns: [
    column("Last Seen", "Time since it was observed last."),
    column("Type", "Normal or Warning."),
    column("Reason", "Why it happened, in one word."),
    column("Object", "What it is about."),
    column("Subobject", "Part of the object that it is about.", { wide: true }),
    column("Source", "Component that reported it.", { wide: true }),
    column("Message", "What happened."),
    column("First Seen", "Time since it was observed first.", { wide: true }),
    column("Count", "How often it was observed.", { wide: true }),
    column("Name", "Name of the Event.", { format: "name", wide: true }),
  ],
  cells(event, now) {
    const about = getPath(event, ["involvedObject"]) ?? getPath(event, ["regarding"]);
    const kind = text(about, "kind").toLowerCase();
    const name = text(about, "name");
    const either = (core: string, other: string) => text(event, core) || text(event, other);
    const first = either("firstTimestamp", "deprecatedFirstTimestamp") || text(event, "eventTime");
    const last = text(event, "series.lastObservedTime") || either("lastTimestamp", "deprecatedLastTimestamp") || first;
    const count = number(event, "series.count") || number(event, "count") || number(event, "deprecatedCount") || 1;
    return [
      age(last, now),
      text(event, "type"),
      text(event, "reason"),
      name === "" ? kind : `${kind}/${name}`,
      text(about, "fieldPath"),
      [
        either("source.component", "deprecatedSource.component") || either("reportingComponent", "reportingController"),
        either("source.host", "deprecatedSource.host") || text(event, "reportingInstance"),
      ]
        .filter((part) => part !== "")
        .join(", "),
      (text(event, "message") || text(event, "note")).trim(),
      age(first, now),
      count,
      event.metadata.name,
    ];
  },
};
