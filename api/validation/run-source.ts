import type { FieldError } from "../field-error.ts";
import type { Run } from "../kinds/run.ts";
import { forbidden, invalid, type Rule } from "./rule.ts";

/** `https://host/path`, `ssh://[user@]host[:port]/path`, or `user@host:path`. */
const url = /^(https:\/\/|ssh:\/\/)[^\s/]+\/\S+$|^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:(?!\/\/)\S+$/;

/** What git allows in the name of a ref (git-check-ref-format), and never the beginning of an option. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is excluded
const ref = /^(?!-)(?!.*\.\.)[^\u0000-\u0020\u007f~^:?*[\\]+$/;

/** A repository that can be fetched, named without secrets: everybody who may read Runs reads it. */
export const runSource: Rule<Run> = ({ spec }) => {
  const { repoURL, commitSHA } = spec.source ?? {};
  return [
    ...(repoURL === undefined ? [] : checkURL(repoURL)),
    ...(commitSHA === undefined || ref.test(commitSHA)
      ? []
      : [
          invalid(
            "spec.source.commitSHA",
            `"${commitSHA}" cannot be a commit, tag or branch`,
            "Write a commit, a tag or a branch, or leave it out for the default branch.",
          ),
        ]),
  ];
};

function checkURL(text: string): FieldError[] {
  const path = "spec.source.repoURL";
  const [, user = ""] = /^[a-z]+:\/\/([^/@]*)@/.exec(text) ?? [];
  if (user.includes(":")) {
    return [forbidden(path, "the address has a password in it", "Leave it out: every reader of the Run would see it.")];
  }
  if (url.test(text)) return [];
  const advice = "Write https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH.";
  return [invalid(path, `"${text}" is no address of a Git repository over https or ssh`, advice)];
}
