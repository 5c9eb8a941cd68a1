/** Rules for paths that users write, meant to lie below a directory of ours; the same wherever such a path is accepted. */

/** Longest path and longest single name in bytes (Linux PATH_MAX and NAME_MAX). */
export const maxPathBytes = 4096;
export const maxNameBytes = 255;

/** Directory of the platform in every working directory: users may not name anything below it. */
export const reservedDirectory = ".kruntimes";

/** What is wrong with a path, and what to write instead. */
export interface PathViolation {
  readonly message: string;
  readonly advice: string;
}

/** Checks a relative path: not absolute, no empty, `.` or `..` segment, nothing reserved or unprintable, within the limits. */
export function checkRelativePath(path: string): PathViolation | undefined {
  if (path === "") return { message: "the path is empty", advice: "Name a file or directory." };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (!path.isWellFormed() || /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(path)) {
    return { message: "the path has characters that cannot be printed", advice: "Use printable characters only." };
  }
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
    const violation = checkSegment(path, segment);
    if (violation !== undefined) return violation;
  }
  return undefined;
}

function checkSegment(path: string, segment: string): PathViolation | undefined {
  if (segment === "") {
    return { message: `"${path}" has an empty segment`, advice: "Use single slashes, and none at the end." };
  }
  if (segment === "." || segment === "..") {
    return { message: `"${path}" has the segment "${segment}"`, advice: `Write the path without "${segment}".` };
  }
  // Volumes that fold case would take these for the same directory.
  if (segment.normalize("NFKC").toLowerCase() === reservedDirectory) {
    return {
      message: `"${path}" uses the reserved name ${reservedDirectory}`,
      advice: "Choose another name: the platform keeps its own files there.",
    };
  }
  if (Buffer.byteLength(segment) > maxNameBytes) {
    return { message: `a name in the path is longer than ${maxNameBytes} bytes`, advice: "Use a shorter name." };
  }
  return undefined;
}

/** Whether one of two clean relative paths is the other one or lies below it. */
export function pathsOverlap(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}
