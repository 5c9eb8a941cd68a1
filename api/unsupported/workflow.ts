import type { Kind } from "../crd/kinds.ts";
import { never, type Unsupported } from "./entry.ts";

/** Advice by field. */
type Advice = Readonly<Record<string, string>>;

const entries = (kind: Kind, prefix: string, message: string, advice: Advice): Unsupported[] =>
  Object.entries(advice).map(([field, text]) => ({ kind, path: `${prefix}.${field}`, message, advice: text }));

const minutes = "Use timeout, e.g. timeout: 5m.";

/** Keys of GitHub Actions that have another form here. */
const stepForeign: Advice = {
  id: "Use name; it is the id of the step.",
  "working-directory": "Begin the run text with `cd DIRECTORY`.",
  "timeout-minutes": minutes,
};

const jobForeign: Advice = {
  name: "The id of the job is its name; leave name out.",
  container: "Make a Runtime with that image and name it in runs-on.",
  services: "Run the service as a Deployment of your own and connect to its Service.",
  snapshot: "Build an image of your own and name it in the template of a Runtime.",
  permissions: "Leave it out: a Run holds no identity that could have permissions.",
  concurrency: "Leave it out: create the next WorkflowRun when the last one has ended.",
  environment: "Leave it out; for an approval write a step with suspend.",
  defaults: "Write shell at each step, and `cd DIRECTORY` into its run text.",
  secrets: "Give the container `runtime` of the Runtime the Secret, with valueFrom in its template.",
  "timeout-minutes": minutes,
};

const trigger = "Leave it out: a WorkflowRun starts the Workflow; inputs stand in spec.inputs.";

const workflowForeign: Advice = {
  on: trigger,
  // kubectl reads YAML 1.1, where the key `on` is the truth value.
  true: `YAML reads the key \`on\` as true. ${trigger}`,
  name: "Use metadata.name.",
  description: "Use an annotation, or a comment.",
  "run-name": "Use metadata.name of the WorkflowRun.",
  permissions: "Leave it out: a Run holds no identity that could have permissions.",
  concurrency: "Leave it out: create the next WorkflowRun when the last one has ended.",
  defaults: "Write shell at each step, and `cd DIRECTORY` into its run text.",
};

const jobEntries = (kind: Kind): Unsupported[] => [
  ...entries(kind, "spec.jobs.*", never, jobForeign),
  ...entries(kind, "spec.jobs.*.steps.*", never, stepForeign),
];

const inputEntries = (kind: Kind): Unsupported[] =>
  entries(kind, "spec.inputs.*", never, { deprecationMessage: "Say it in description." });

export const workflowEntries: readonly Unsupported[] = [
  ...entries("Workflow", "spec", never, workflowForeign),
  ...inputEntries("Workflow"),
  ...jobEntries("Workflow"),
];

export const workflowRunEntries: readonly Unsupported[] = [...jobEntries("WorkflowRun")];

export const actionEntries: readonly Unsupported[] = [
  ...entries("Action", "spec", never, {
    runs: "Write the steps into spec.steps.",
    name: "Use metadata.name.",
    author: "Use an annotation, or a comment.",
    description: "Use an annotation, or a comment.",
    branding: "Leave it out.",
  }),
  ...inputEntries("Action"),
  ...entries("Action", "spec.steps.*", never, {
    ...stepForeign,
    uses: "An Action does not use others; write their steps here, each with run.",
    with: "Write the values into the run text.",
    suspend: "A gate stands in a job, not in an Action.",
    artifacts: "Name the artifacts in the step of the job that uses the Action.",
  }),
];
