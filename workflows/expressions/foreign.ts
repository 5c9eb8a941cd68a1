/** Contexts and functions of GitHub Actions that are not here, with what to write instead. Names in lower case. */
export const foreignNames: ReadonlyMap<string, string> = new Map([
  ["github", "Use run.name, run.workflow or run.attempt, or hand the value over as an input."],
  [
    "secrets",
    "Give the container `runtime` of the Runtime the Secret, with valueFrom in its template; scripts read it as a variable.",
  ],
  ["vars", "Write the value into env of the Workflow, or hand it over as an input."],
  [
    "runner",
    "The script runs in a Pod of the Runtime: ask the program, e.g. `uname -m`; its directory for files is the working directory.",
  ],
  ["services", "Connect to the Service of what you run beside it."],
  ["hashfiles", "Compute it in a step: `sha256sum FILES`, and hand it over as an output."],
  ["case", "Write CONDITION && VALUE || OTHER."],
]);
