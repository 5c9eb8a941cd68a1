import { type Static, Type } from "@sinclair/typebox";
import { AnyValue, AtomicList, Duration, Enum, ListMap, MapOf, RelativePath } from "../schema.ts";

/** Ids of jobs and names of steps. */
export const identifierPattern = "^[A-Za-z]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$";

/** A key of GitHub Actions that we do not support: declared so that it survives pruning, refused by admission. */
const foreign = () => Type.Optional(AnyValue({ description: "Not supported; refused at creation." }));

const Expression = (description: string, maxLength = 8192) => Type.String({ description, maxLength });
/** Values may be numbers and truth values, as people write them: `PORT: 8080`. */
const Env = () =>
  Type.Optional(
    MapOf(AnyValue(), { description: "Environment variables; texts, numbers, true or false.", maxProperties: 256 }),
  );
/** `if: false` is no text. */
const Condition = () => Type.Optional(AnyValue({ description: "Runs only if this expression holds." }));
const With = () => Type.Optional(MapOf(AnyValue(), { description: "Inputs of what `uses` names.", maxProperties: 64 }));

const Retry = () =>
  Type.Optional(
    Type.Object(
      {
        attempts: Type.Integer({ description: "Attempts in all.", minimum: 1, maximum: 100 }),
        backoff: Type.Optional(Duration("Delay before the second attempt; doubles each time.")),
      },
      { description: "Repeat after a failure." },
    ),
  );

export const StepSpec = Type.Object(
  {
    name: Type.String({ description: "Name of the step in its job.", maxLength: 63, pattern: identifierPattern }),
    if: Condition(),
    env: Env(),
    timeout: Type.Optional(Duration("Longest time of the step.")),
    "continue-on-error": Type.Optional(AnyValue({ description: "A failure of this step is no failure of the job." })),
    retry: Retry(),
    artifacts: Type.Optional(
      AtomicList(
        Type.Object({
          from: Type.String({
            description: "`jobs.JOB.artifacts.NAME` of a job in `needs`.",
            maxLength: 512,
            pattern: "^jobs\\.[A-Za-z][A-Za-z0-9_-]{0,62}\\.artifacts\\..+$",
          }),
          path: RelativePath("Where to put it, below the working directory."),
        }),
        { description: "Artifacts of earlier jobs.", maxItems: 32 },
      ),
    ),
    run: Type.Optional(Type.String({ description: "Script to run.", minLength: 1, maxLength: 262144 })),
    shell: Type.Optional(Type.String({ description: "Shell of `run`.", maxLength: 63 })),
    // Checked by admission, which can tell what to write instead of an action of GitHub.
    uses: Type.Optional(Type.String({ description: "Action to run.", minLength: 1, maxLength: 253 })),
    with: With(),
    suspend: Type.Optional(
      Type.Object(
        {
          duration: Type.Optional(Duration("Resumes by itself after this time.")),
          message: Type.Optional(Type.String({ description: "What is waited for.", maxLength: 1024 })),
          outputs: Type.Optional(
            MapOf(
              Type.Object({
                default: Type.Optional(Type.String({ description: "Value without a supplied one.", maxLength: 8192 })),
                description: Type.Optional(Type.String({ description: "Meaning.", maxLength: 1024 })),
                options: Type.Optional(
                  AtomicList(Type.String({ maxLength: 8192 }), { description: "Allowed values.", maxItems: 64 }),
                ),
              }),
              { description: "Values that a Resume supplies.", maxProperties: 64 },
            ),
          ),
        },
        { description: "A gate: waits for a Resume." },
      ),
    ),
    id: foreign(),
    "working-directory": foreign(),
    "timeout-minutes": foreign(),
  },
  {
    "x-kubernetes-validations": [
      {
        rule: "(has(self.run) ? 1 : 0) + (has(self.uses) ? 1 : 0) + (has(self.suspend) ? 1 : 0) == 1",
        message: "exactly one of run, uses and suspend must be set",
      },
    ],
  },
);
export type StepSpec = Static<typeof StepSpec>;

export const JobSpec = Type.Object(
  {
    "runs-on": Type.Optional(
      Type.String({ description: "Runtime that runs the steps; may have expressions.", minLength: 1, maxLength: 1024 }),
    ),
    needs: Type.Optional(
      AtomicList(Type.String({ maxLength: 63 }), { description: "Jobs that must succeed first.", maxItems: 64 }),
    ),
    if: Condition(),
    env: Env(),
    outputs: Type.Optional(
      MapOf(Expression("Expression over the steps."), { description: "Values for other jobs.", maxProperties: 64 }),
    ),
    timeout: Type.Optional(Duration("Longest time of the job.")),
    "continue-on-error": Type.Optional(AnyValue({ description: "A failure of this job is no failure of the run." })),
    strategy: Type.Optional(
      Type.Object(
        {
          matrix: Type.Optional(AnyValue({ description: "Values; one instance for each combination." })),
          "max-parallel": Type.Optional(Type.Integer({ description: "Instances at a time.", minimum: 1 })),
          "fail-fast": Type.Optional(Type.Boolean({ description: "One failure stops the others; default true." })),
        },
        { description: "Several instances of the job." },
      ),
    ),
    retry: Retry(),
    steps: Type.Optional(
      ListMap(StepSpec, ["name"], { description: "Steps, one after the other.", minItems: 1, maxItems: 128 }),
    ),
    uses: Type.Optional(
      Type.String({ description: "Reusable Workflow that is the job.", minLength: 1, maxLength: 253 }),
    ),
    with: With(),
    name: foreign(),
    container: foreign(),
    services: foreign(),
    snapshot: foreign(),
    permissions: foreign(),
    concurrency: foreign(),
    environment: foreign(),
    defaults: foreign(),
    secrets: foreign(),
    "timeout-minutes": foreign(),
  },
  {
    "x-kubernetes-validations": [
      { rule: "has(self.steps) != has(self.uses)", message: "exactly one of steps and uses must be set" },
    ],
  },
);
export type JobSpec = Static<typeof JobSpec>;

export const Jobs = (description: string) => MapOf(JobSpec, { description, minProperties: 1, maxProperties: 64 });

export const Inputs = () =>
  Type.Optional(
    MapOf(
      Type.Object({
        type: Type.Optional(
          Enum(["string", "number", "boolean", "choice"], { description: "Type of the value.", default: "string" }),
        ),
        required: Type.Optional(Type.Boolean({ description: "Must be given." })),
        default: Type.Optional(AnyValue({ description: "Value when it is not given." })),
        options: Type.Optional(
          AtomicList(Type.String({ maxLength: 8192 }), { description: "Values of a choice.", maxItems: 64 }),
        ),
        description: Type.Optional(Type.String({ description: "Meaning.", maxLength: 1024 })),
        deprecationMessage: foreign(),
      }),
      { description: "Inputs.", maxProperties: 64 },
    ),
  );

export const Outputs = () =>
  Type.Optional(
    MapOf(
      Type.Object({
        value: Expression("Expression over jobs (Workflow) or steps (Action)."),
        description: Type.Optional(Type.String({ description: "Meaning.", maxLength: 1024 })),
      }),
      { description: "Outputs.", maxProperties: 64 },
    ),
  );

export { Env, foreign };
