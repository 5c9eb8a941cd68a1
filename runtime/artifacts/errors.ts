import { ArtifactInvalidError, StoreUnavailableError } from "#runtime/artifacts/store.ts";
import { FilesError, isFilesError } from "#runtime/files/port.ts";

/** Runs a call on the files of a Run: what it finds wrong there is wrong with the artifact, and stays wrong. */
export async function blameArtifact<T>(what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof FilesError) throw new ArtifactInvalidError(`${what}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Runs a call on the volume of a store: only a link planted there is final, everything else may heal. */
export async function blameStore<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (isFilesError(error, "Unsafe", "TooLong")) {
      throw new ArtifactInvalidError(`the artifact store refuses the path: ${error.message}`, { cause: error });
    }
    if (error instanceof FilesError) {
      throw new StoreUnavailableError(`the artifact store failed: ${error.message}`, { cause: error });
    }
    throw error;
  }
}
