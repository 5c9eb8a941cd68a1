/** Apart from the schema of the kind: who only asks for phases need not load what describes schemas. */
export const runPhases = [
  "Pending",
  "Scheduled",
  "Running",
  "Ready",
  "Finalizing",
  "Succeeded",
  "Failed",
  "Timeout",
  "Cancelled",
] as const;
