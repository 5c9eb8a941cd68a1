import { patterns } from "#api/schema.ts";
import { invalid } from "#api/validation/rule.ts";
import type { FieldError } from "./field-error.ts";

const subdomain = new RegExp(patterns.subdomain);

/** What GitHub has after `uses` and how one comes by without it. */
const foreign: readonly (readonly [form: RegExp, message: string, advice: string])[] = [
  [
    /^actions\/checkout(@|$)/,
    "actions/checkout is an action of GitHub",
    "Write a step with run: `git clone --depth 1 URL .`; the steps after it find the files.",
  ],
  [
    /^actions\/(upload|download)-artifact(@|$)/,
    "artifacts need no action",
    "Leave files in $KRUNTIME_ARTIFACTS_DIR; a step of a later job takes them with artifacts: [{from: jobs.JOB.artifacts.NAME, path: PATH}].",
  ],
  [
    /^actions\/(setup-[a-z]+|cache)(@|$)/,
    "tools and caches belong to the Runtime",
    "Name a Runtime whose image has the tool in runs-on; its workspace keeps files between steps.",
  ],
  [/^docker:\/\//, "a step runs in a Pod of the Runtime", "Make a Runtime with that image and name it in runs-on."],
  [
    /\.ya?ml(@|$)/,
    "files of repositories cannot be used",
    "Create an object of kind Workflow or Action from the file, and write its name.",
  ],
  [
    /[/@]/,
    "actions of GitHub cannot be used",
    "Write what it does as a step with run, or as an object of kind Action of your own, and write its name.",
  ],
];

/** Checks the name after `uses`: that of an Action or Workflow of the same namespace. */
export function checkUsedName(kind: "Action" | "Workflow", name: string, path: string): FieldError[] {
  const known = foreign.find(([form]) => form.test(name));
  if (known !== undefined) return [invalid(path, `"${name}": ${known[1]}`, known[2])];
  if (subdomain.test(name)) return [];
  const message = `"${name}" cannot be the name of ${kind === "Action" ? "an Action" : "a Workflow"}`;
  const advice = name.includes("${{")
    ? "Write the name itself; it is no expression."
    : "Names have lower-case letters, digits, - and ., with a letter or digit at both ends.";
  return [invalid(path, message, advice)];
}
