/** The form of an Execute request. Pure; used by the executor and its simulated double. */
import { type ExecuteRequest, InvalidExecuteRequestError } from "#runtime/executor-client.ts";

/**
 * Refuses what can never be started, whatever the machine looks like. (A missing directory or program is not refused here: it
 * is the outcome of that execution.)
 *
 * @throws {InvalidExecuteRequestError} naming the first bad field and what to do.
 */
export function checkRequest(request: ExecuteRequest): void {
  if (request.runUid === "" || request.runUid.length > 256) refuse("run_uid", "must be 1 to 256 characters");
  checkText("run_uid", request.runUid);
  if (!Number.isInteger(request.attempt) || request.attempt < 1) refuse("attempt", "must be a whole number from 1");
  checkPath("working_dir", request.workingDir);
  if (request.script !== undefined) checkPath("script", request.script);
  request.interpreter?.forEach((word, index) => {
    checkText(`interpreter[${index}]`, word);
  });
  request.args.forEach((arg, index) => {
    checkText(`args[${index}]`, arg);
  });
  if (request.script === undefined && (request.args[0] ?? "") === "") {
    refuse(
      "args",
      "is the whole command when there is no script, so its first item must be a program; set script or args",
    );
  }
  checkVariables("env", request.env);
  checkVariables("platform_env", request.platformEnv ?? {});
}

function checkVariables(field: string, variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (name === "" || name.includes("=")) refuse(`${field}[${JSON.stringify(name)}]`, "needs a name without '='");
    checkText(`${field}[${JSON.stringify(name)}]`, name + value);
  }
}

function checkPath(field: string, path: string): void {
  checkText(field, path);
  if (!path.startsWith("/")) refuse(field, `must be an absolute path, not ${JSON.stringify(path.slice(0, 64))}`);
}

/** The kernel ends arguments, names and paths at a zero byte, so what follows one would silently be lost. */
function checkText(field: string, text: string): void {
  if (text.includes("\0"))
    refuse(field, "contains a zero byte, which no argument, variable or path can hold; remove it");
}

function refuse(field: string, problem: string): never {
  throw new InvalidExecuteRequestError(`${field} ${problem}`);
}
