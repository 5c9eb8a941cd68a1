/** Writes of a status whose answer is the same from the embedded API server and from a real one. */

/** None of them is a status of any kind. */
export const noStatuses: readonly unknown[] = [
  {},
  { phase: null },
  { phase: "" },
  { phase: 1 },
  { phase: "Done" },
  "Pending",
  [],
];

/** Parts of the status of a WorkflowRun that runs, and the code of the answer to a PUT. */
export const memberCases: Readonly<Record<string, { readonly status: object; readonly code: number }>> = {
  "jobs and steps with phases": {
    status: { jobs: { build: { phase: "Running", steps: [{ name: "test", phase: "Running" }] } } },
    code: 200,
  },
  "a job without a phase": { status: { jobs: { build: {} } }, code: 422 },
  "a job with a phase that is none": { status: { jobs: { build: { phase: "Done" } } }, code: 422 },
  "a step without a phase": { status: { jobs: { build: { phase: "Running", steps: [{ name: "test" }] } } }, code: 422 },
  "a step without a name": {
    status: { jobs: { build: { phase: "Running", steps: [{ phase: "Running" }] } } },
    code: 422,
  },
  "a step that is there twice": {
    status: {
      jobs: {
        build: {
          phase: "Running",
          steps: [
            { name: "test", phase: "Running" },
            { name: "test", phase: "Failed" },
          ],
        },
      },
    },
    code: 422,
  },
};
