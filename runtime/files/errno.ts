import { FilesError, type FilesErrorCode } from "#runtime/files/port.ts";

const codes: Readonly<Record<string, FilesErrorCode>> = {
  ENOENT: "Missing",
  EEXIST: "Exists",
  ENOTEMPTY: "NotEmpty",
  ENOTDIR: "WrongKind",
  EISDIR: "WrongKind",
  ELOOP: "Unsafe",
  ENXIO: "Unsafe", // a pipe without a reader, a socket, a device without a driver
  ENODEV: "Unsafe",
  ENAMETOOLONG: "TooLong",
  ENOSPC: "NoSpace",
  EDQUOT: "NoSpace",
  EACCES: "Denied",
  EPERM: "Denied",
  EROFS: "Denied",
};

/** Runs one call of node:fs and turns what it throws into a {@link FilesError} that names the path the caller knows. */
export async function mapErrors<T>(path: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toFilesError(path, error);
  }
}

/** Node's messages name descriptors instead of paths, so ours is built from the code. */
export function toFilesError(path: string, error: unknown): FilesError {
  if (error instanceof FilesError) return error;
  const errno = errnoOf(error);
  const code = codes[errno ?? ""] ?? "Failed";
  return new FilesError(code, path, `${path}: ${describe(code, errno, error)}`, { cause: error });
}

/** `ENOENT` and the like, when the error comes from the system. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

function describe(code: FilesErrorCode, errno: string | undefined, error: unknown): string {
  switch (code) {
    case "Missing":
      return "no such file or directory";
    case "Exists":
      return "exists already";
    case "NotEmpty":
      return "the directory is not empty";
    case "WrongKind":
      return "not of the expected kind (file or directory)";
    case "Unsafe":
      return "a link, device, pipe or socket, or it leads elsewhere";
    case "TooLong":
      return "the name is too long";
    case "NoSpace":
      return "no space left on the volume";
    case "Denied":
      return "permission denied";
    case "TooMany":
    case "Failed":
      return errno ?? (error instanceof Error ? error.message : String(error));
  }
}
