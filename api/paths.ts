/** Rules for paths that users write, meant to lie below a directory of ours: the same at admission and on the Pod. */

/** Longest relative path in bytes (Linux PATH_MAX). */
export const maxPathBytes = 4096;
/** Longest single name in bytes (Linux NAME_MAX). */
export const maxNameBytes = 255;
/** Directory of the platform inside a working directory or workspace; users may not name anything below it. */
export const reservedDirectory = ".kruntimes";

export interface PathViolation {
  readonly message: string;
  /** What to write instead. */
  readonly advice: string;
}

/** Checks a path that a user wrote, meant to lie below the working directory. */
export function checkRelativePath(path: string): PathViolation | undefined {
  if (path === "")
    return { message: "the path is empty", advice: "Name a file or directory below the working directory." };
  const text = checkText(path, "path");
  if (text !== undefined) return text;
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

/** Checks the name of one artifact: a single component that every store and file system can hold. */
export function checkArtifactName(name: string): PathViolation | undefined {
  if (name === "") return { message: "the name is empty", advice: "Give the file a name." };
  const text = checkText(name, "name");
  if (text !== undefined) return text;
  if (name.includes("/") || name.includes("\\")) {
    return { message: `the name "${name}" contains a slash or backslash`, advice: "Use a name without / and \\." };
  }
  return checkSegment(name, name);
}

function checkText(text: string, what: string): PathViolation | undefined {
  if (!text.isWellFormed() || text.includes("\uFFFD")) {
    return { message: `the ${what} is not valid UTF-8`, advice: `Encode the ${what} as UTF-8.` };
  }
  // Control characters have no place in a name, and they garble every message and terminal that shows it.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.exec(text);
  if (control === null) return undefined;
  const code = control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  return {
    message: `the ${what} has the control character U+${code} at position ${control.index + 1}`,
    advice: "Use printable characters only.",
  };
}

function checkSegment(path: string, segment: string): PathViolation | undefined {
  if (segment === "") {
    return { message: `"${path}" has an empty segment`, advice: "Use single slashes, and none at the end." };
  }
  if (segment === "." || segment === "..") {
    return { message: `"${path}" has the segment "${segment}"`, advice: `Write the path without "${segment}".` };
  }
  if (fold(segment) === reservedDirectory) {
    return {
      message: `"${path}" uses the reserved name ${reservedDirectory}`,
      advice: "Choose another name: the platform keeps its own files there.",
    };
  }
  if (Buffer.byteLength(segment) > maxNameBytes) {
    return {
      message: `a segment of "${shorten(path)}" is longer than ${maxNameBytes} bytes`,
      advice: "Use a shorter name.",
    };
  }
  return undefined;
}

/** Volumes that fold case, or skip invisible characters, would take such names for the same directory. */
function fold(name: string): string {
  return name
    .normalize("NFKC")
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toLowerCase();
}

function shorten(path: string): string {
  return path.length <= 80 ? path : `${path.slice(0, 77)}...`;
}

/** Whether one of two clean relative paths is the other one or lies below it. */
export function pathsOverlap(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}
