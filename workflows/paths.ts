import type { FieldError } from "./field-error.ts";

type Violation = Omit<FieldError, "path">;

/** Longest single name in bytes (Linux NAME_MAX) and longest path (PATH_MAX). */
const maxNameBytes = 255;
const maxPathBytes = 4096;

/** Directory of the platform in every working directory. */
const reservedName = ".kruntimes";

/** Checks where an artifact is to be put: a path below the working directory that never leaves it. */
export function checkDestination(path: string): Violation | undefined {
  if (path === "") return { message: "the path is empty", advice: "Name a file or directory." };
  if (path.startsWith("/")) {
    return {
      message: `"${path}" is absolute`,
      advice: "Leave out the leading slash: paths start at the working directory.",
    };
  }
  if (Buffer.byteLength(path) > maxPathBytes) {
    return { message: `the path is longer than ${maxPathBytes} bytes`, advice: "Use a shorter path." };
  }
  for (const segment of path.split("/")) {
    if (segment === "") {
      return { message: `"${path}" has an empty segment`, advice: "Use single slashes, and none at the end." };
    }
    const violation = checkSegment(path, segment);
    if (violation !== undefined) return violation;
  }
  return undefined;
}

/** Checks the name of an artifact: one file name. */
export function checkArtifactName(name: string): Violation | undefined {
  if (/[/\\]/.test(name)) {
    return {
      message: `the artifact name "${name}" contains a slash or backslash`,
      advice: "Artifacts have plain file names.",
    };
  }
  return checkSegment(name, name);
}

function checkSegment(whole: string, segment: string): Violation | undefined {
  if (segment === "." || segment === "..") {
    return { message: `"${whole}" has the segment "${segment}"`, advice: `Write it without "${segment}".` };
  }
  // Volumes that fold case would take these for the same directory.
  if (segment.normalize("NFKC").toLowerCase() === reservedName) {
    return {
      message: `"${whole}" uses the reserved name ${reservedName}`,
      advice: "Choose another name: the platform keeps its own files there.",
    };
  }
  if (Buffer.byteLength(segment) > maxNameBytes) {
    return { message: `a name in it is longer than ${maxNameBytes} bytes`, advice: "Use a shorter name." };
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (!segment.isWellFormed() || /[\u0000-\u001f\u007f-\u009f]/.test(segment)) {
    return { message: "the name has characters that cannot be printed", advice: "Use printable characters only." };
  }
  return undefined;
}
