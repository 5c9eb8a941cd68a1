import fc from "fast-check";

/** What a target consists of; {@link defineTarget} makes it runnable. */
export interface Definition<Input> {
  readonly name: string;
  /** The property: a sentence about every input. */
  readonly holds: string;
  readonly inputs: fc.Arbitrary<Input>;
  /**
   * Throws when the property does not hold for the input. Returns what became of the input, e.g. `read` or `refused`: a target whose
   * inputs all end the same way tests nothing.
   */
  check(input: Input): string | Promise<string>;
  /** All that an input can become. */
  readonly outcomes: readonly string[];
  /** The input for people; default as JavaScript. */
  readonly show?: (input: Input) => string;
  /** How many executions each change is checked with; default 400, less where one takes long. */
  readonly sliceRuns?: number;
  /** Milliseconds of processor time that one execution may take; default 1000. */
  readonly patienceMs?: number;
}

/** Which inputs are tried: the same batch always tries the same ones. */
export interface Batch {
  readonly seed: number;
  readonly runs: number;
  /** Of a failure that was found before: only that input is tried. */
  readonly path?: string | undefined;
  /** Told before each input which one it is, counted from 0; while a failure is made smaller, the one that failed. */
  readonly onRun?: (run: number) => void;
}

export interface Failure {
  readonly seed: number;
  readonly path: string;
  /** The smallest input that still fails. */
  readonly input: string;
  readonly error: string;
  /** How many times the input was made smaller. */
  readonly shrinks: number;
}

export interface Result {
  readonly executions: number;
  /** How many inputs became what. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly failure?: Failure;
}

export interface Target {
  readonly name: string;
  readonly holds: string;
  readonly outcomes: readonly string[];
  readonly sliceRuns: number;
  run(batch: Batch): Promise<Result>;
  /** The input that a batch tries at a place, when trying it never ends. */
  inputAt(seed: number, run: number): Promise<string>;
}

/** Longest part of an input that a report shows, in characters: what was made smaller fits many times. */
const shownInput = 20_000;
const shownError = 2000;
/** Making a slow input smaller takes its time again for each try, so that ends some time. */
const shrinkingMs = 60_000;

export function defineTarget<Input>(definition: Definition<Input>): Target {
  const {
    name,
    holds,
    outcomes: expected,
    inputs,
    check,
    patienceMs = 1000,
    sliceRuns = 400,
    show = fc.stringify,
  } = definition;
  const shown = (input: Input) => {
    try {
      return show(input).slice(0, shownInput);
    } catch {
      return "(nested too deeply to be shown)";
    }
  };

  async function execute(input: Input): Promise<string> {
    let fastest = Number.POSITIVE_INFINITY;
    // Garbage that others left counts as well, but not each time.
    for (let attempt = 1; attempt <= 3; attempt++) {
      const before = process.threadCpuUsage();
      const outcome = await check(input);
      const { user, system } = process.threadCpuUsage(before);
      fastest = Math.min(fastest, (user + system) / 1000);
      if (!expected.includes(outcome)) throw new Error(`"${outcome}" is none of ${expected.join(", ")}`);
      if (fastest <= patienceMs) return outcome;
    }
    throw new Error(`it took ${Math.round(fastest)} ms of processor time, over ${patienceMs}`);
  }

  return {
    name,
    holds,
    outcomes: expected,
    sliceRuns,
    async run({ seed, runs, path, onRun = () => {} }) {
      let run = -1;
      let hasFailed = false;
      const outcomes: Record<string, number> = {};
      const property = fc.asyncProperty(inputs, async (input) => {
        if (!hasFailed) run++;
        onRun(run);
        try {
          const outcome = await execute(input);
          if (!hasFailed) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        } catch (error) {
          hasFailed = true;
          throw error;
        }
      });
      const again = path === undefined ? { numRuns: runs } : { numRuns: 1, path, endOnFailure: true };
      const details = await fc.check(property, { seed, ...again, interruptAfterTimeLimit: shrinkingMs });
      if (!details.failed) return { executions: details.numRuns, outcomes };
      const [input] = details.counterexample ?? [];
      return {
        executions: run + 1,
        outcomes,
        failure: {
          seed,
          path: details.counterexamplePath ?? path ?? String(run),
          input: input === undefined ? "undefined" : shown(input),
          error: describe(details.errorInstance),
          shrinks: details.numShrinks,
        },
      };
    },
    async inputAt(seed, run) {
      let last: Input | undefined;
      const remember = fc.asyncProperty(inputs, async (input) => {
        last = input;
      });
      await fc.check(remember, { seed, numRuns: run + 1 });
      return last === undefined ? "undefined" : shown(last);
    },
  };
}

/** The error with the places in our own code that it came through. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = `${error.name}: ${error.message}`.slice(0, shownError);
  const places = (error.stack ?? "")
    .split("\n")
    .filter((line) => /^ {4}at /.test(line) && !/node_modules|node:internal/.test(line));
  return [message, ...places].join("\n");
}

/** The seed of one of the batches that a seed stands for. Neighbours are far apart, so that their inputs have nothing in common. */
export const batchSeed = (seed: number, batch: number): number => Math.imul(seed + batch, 0x9e3779b1);
