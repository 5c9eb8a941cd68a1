import { type ExitCode, exitCodes } from "./exit-codes.ts";

/**
 * Something that ends the command.
 *
 * What to do: print {@link errorLines} and exit with the code. It needs no stack trace.
 */
export class CliError extends Error {
  override readonly name = "CliError";
  /** What to do next: a sentence. */
  readonly advice: string | undefined;
  /** Lines that help to understand it, e.g. the end of a log. */
  readonly details: readonly string[];
  readonly exitCode: ExitCode;

  constructor(
    message: string,
    options: ErrorOptions & { advice?: string; details?: readonly string[]; exitCode?: ExitCode } = {},
  ) {
    super(message, options);
    this.advice = options.advice;
    this.details = options.details ?? [];
    this.exitCode = options.exitCode ?? exitCodes.usage;
  }
}

/** The lines that tell people of an error. */
export function errorLines({ message, advice, details }: CliError): string[] {
  return [
    `krt: ${message}`,
    ...details.map((line) => `     ${line}`),
    ...(advice === undefined ? [] : [`     ${advice}`]),
  ];
}
