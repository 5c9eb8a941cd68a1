import type { FieldError } from "../field-error.ts";
import type { Run } from "../kinds/run.ts";
import { forbidden, invalid, type Rule, required } from "./rule.ts";

/** `https://host/path`, `ssh://[user@]host[:port]/path`, or `user@host:path`. */
const url = /^(https:\/\/|ssh:\/\/)[^\s/]+\/\S+$|^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:(?!\/\/)\S+$/;

const overSsh = /^ssh:\/\/|^[^/:]+@[^/:]+:/;

/** What git allows in the name of a ref (git-check-ref-format), and never the beginning of an option. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is excluded
const ref = /^(?!-)(?!.*\.\.)[^\u0000-\u0020\u007f~^:?*[\\]+$/;

/** A repository that can be fetched, named without secrets: everybody who may read Runs reads it. */
export const runSource: Rule<Run> = ({ spec }) => {
  const { repoURL, commitSHA, credentialsSecretName } = spec.source ?? {};
  return [
    ...(repoURL === undefined ? [] : checkURL(repoURL)),
    ...(repoURL === undefined || credentialsSecretName !== undefined || !overSsh.test(repoURL)
      ? []
      : [
          required(
            "spec.source.credentialsSecretName",
            "a repository over ssh needs a key and the known hosts",
            "Name a Secret with ssh-privatekey and known_hosts that the Runtime lists, or use https.",
          ),
        ]),
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
  const [, scheme, user = ""] = /^([A-Za-z]+):\/\/([^/]*)@/.exec(text) ?? [];
  // Over https a user alone is a token as often as a name.
  if (user.includes(":") || scheme?.toLowerCase() === "https") {
    const advice =
      "Leave them out, every reader of the Run would see them: put them into a Secret, named in credentialsSecretName.";
    return [forbidden(path, "the address has credentials in it", advice)];
  }
  if (url.test(text)) return [];
  const advice = "Write https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH.";
  return [invalid(path, `"${text}" is no address of a Git repository over https or ssh`, advice)];
}
