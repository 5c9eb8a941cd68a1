import { maxNameBytes, maxPathBytes } from "#api/paths.ts";
import { FilesError } from "#runtime/files/port.ts";

/**
 * The segments of an absolute path below `root`; none for the root itself. What a {@link Files} does first with every path.
 *
 * @throws FilesError `Unsafe` for a path that is not plainly below the root, `TooLong` for names no file system takes.
 */
export function segmentsBelow(root: string, path: string): readonly string[] {
  if (path === root) return [];
  if (!path.startsWith(`${root}/`)) throw new FilesError("Unsafe", path, `${path} is not below ${root}`);
  if (path.includes("\0")) throw new FilesError("Unsafe", path, "a path has a NUL character");
  if (Buffer.byteLength(path) > maxPathBytes) {
    throw new FilesError("TooLong", path, `a path is longer than ${maxPathBytes} bytes`);
  }
  const segments = path.slice(root.length + 1).split("/");
  for (const segment of segments) {
    if (segment === "" || segment === "." || segment === "..") {
      throw new FilesError("Unsafe", path, `${path} has the segment "${segment}"`);
    }
    if (Buffer.byteLength(segment) > maxNameBytes) {
      throw new FilesError("TooLong", path, `a name in ${path} is longer than ${maxNameBytes} bytes`);
    }
  }
  return segments;
}

/** Directory and last segment of a path below the root. The root itself has none, and nobody may replace it. */
export function splitLeaf(root: string, path: string): { readonly parent: string; readonly leaf: string } {
  const leaf = segmentsBelow(root, path).at(-1);
  if (leaf === undefined) throw new FilesError("Unsafe", path, `${path} is the root itself`);
  return { parent: path.slice(0, -leaf.length - 1), leaf };
}
