import type { StoredObject } from "#local/apiserver/index.ts";
import { isObject, type JsonObject } from "#local/apiserver/json.ts";
import { items, number, text } from "./fields.ts";
import { ageColumn, column, nameColumn, type RowCondition, type TableForm } from "./form.ts";
import { age } from "./human-duration.ts";

/** Pods as kubectl shows them: the status column sums up phase, containers and deletion. */
export const podForm: TableForm = {
  columns: [
    nameColumn,
    column("Ready", "Containers that are ready, of all."),
    column("Status", "Phase of the Pod, or what a container waits for or ended with."),
    column("Restarts", "How often containers were started again, and when that was last."),
    ageColumn,
    column("IP", "Address of the Pod.", { wide: true }),
    column("Node", "Node that the Pod is bound to.", { wide: true }),
    column("Nominated Node", "Node that will have room for the Pod.", { wide: true }),
    column("Readiness Gates", "Conditions beyond the containers' that hold, of all.", { wide: true }),
  ],
  cells(pod, now) {
    // Sidecars are init containers that are restarted; they count as containers.
    const sidecars = items(pod, "spec.initContainers").filter(({ restartPolicy }) => restartPolicy === "Always");
    const isSidecar = (status: JsonObject) => sidecars.some(({ name }) => name === status.name);
    const statuses = [
      ...items(pod, "status.containerStatuses"),
      ...items(pod, "status.initContainerStatuses").filter(isSidecar),
    ];
    const ready = statuses.filter((status) => status.ready === true && stateOf(status, "running") !== undefined);
    return [
      pod.metadata.name,
      `${ready.length}/${items(pod, "spec.containers").length + sidecars.length}`,
      status(pod, statuses, ready.length > 0),
      restarts(statuses, now),
      age(pod.metadata.creationTimestamp, now),
      text(items(pod, "status.podIPs")[0], "ip") || text(pod, "status.podIP") || "<none>",
      text(pod, "spec.nodeName") || "<none>",
      text(pod, "status.nominatedNodeName") || "<none>",
      readinessGates(pod),
    ];
  },
  conditions: completed,
};

const stateOf = (status: JsonObject, name: string): JsonObject | undefined => {
  const state = isObject(status.state) ? status.state[name] : undefined;
  return isObject(state) ? state : undefined;
};

const isTerminal = (phase: string) => phase === "Succeeded" || phase === "Failed";

function status(pod: StoredObject, statuses: readonly JsonObject[], running: boolean): string {
  const phase = text(pod, "status.phase");
  const reason = text(pod, "status.reason");
  if (pod.metadata.deletionTimestamp !== undefined && !isTerminal(phase)) {
    return reason === "NodeLost" ? "Unknown" : "Terminating";
  }
  // The first container that has something to say wins.
  const word = statuses.map(containerWord).find((found) => found !== undefined) ?? (reason || phase);
  if (word !== "Completed" || !running) return word;
  const isReady = items(pod, "status.conditions").some(({ type, status }) => type === "Ready" && status === "True");
  return isReady ? "Running" : "NotReady";
}

function containerWord(container: JsonObject): string | undefined {
  const waiting = text(stateOf(container, "waiting"), "reason");
  if (waiting !== "") return waiting;
  const terminated = stateOf(container, "terminated");
  if (terminated === undefined) return undefined;
  const signal = number(terminated, "signal");
  return (
    text(terminated, "reason") || (signal !== 0 ? `Signal:${signal}` : `ExitCode:${number(terminated, "exitCode")}`)
  );
}

function restarts(statuses: readonly JsonObject[], now: number): string {
  const count = statuses.reduce((sum, status) => sum + number(status, "restartCount"), 0);
  const last = statuses.map((status) => text(status, "lastState.terminated.finishedAt")).sort();
  const latest = last.at(-1) ?? "";
  return count === 0 || latest === "" ? String(count) : `${count} (${age(latest, now)} ago)`;
}

function readinessGates(pod: StoredObject): string {
  const gates = items(pod, "spec.readinessGates");
  if (gates.length === 0) return "<none>";
  const conditions = items(pod, "status.conditions");
  const held = gates.filter((gate) =>
    conditions.some(({ type, status }) => type === gate.conditionType && status === "True"),
  );
  return `${held.length}/${gates.length}`;
}

function completed(pod: StoredObject): readonly RowCondition[] {
  const phase = text(pod, "status.phase");
  if (!isTerminal(phase)) return [];
  const message =
    phase === "Succeeded" ? "The pod has completed successfully." : "The pod failed and will not be started again.";
  return [{ type: "Completed", status: "True", reason: phase, message }];
}
