import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { checkArtifactName } from "#api/paths.ts";
import { ArtifactInvalidError, type ArtifactTarget } from "#runtime/artifacts/store.ts";

/** Where artifacts lie below the root (or prefix) of any store: `runs/<run-uid>/artifacts/<name>`. */

const uidPattern = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** The path of an artifact below the root of the store. */
export function artifactPath({ runUid, name }: ArtifactTarget): string {
  const violation = checkArtifactName(name);
  if (violation !== undefined) throw new ArtifactInvalidError(`${violation.message}; ${violation.advice}`);
  return `${runPath(runUid)}/artifacts/${name}`;
}

/** The directory of everything that is stored for a Run. */
export function runPath(runUid: string): string {
  if (!isRunUid(runUid)) throw new ArtifactInvalidError(`"${runUid}" is not the UID of a Run`);
  return `runs/${runUid}`;
}

export function isRunUid(text: string): boolean {
  return uidPattern.test(text);
}

/** The reverse of {@link artifactPath}. Anything that it would not have made is refused. */
export function parseArtifactPath(path: string): ArtifactTarget {
  const [runs, runUid = "", artifacts, name = "", ...rest] = path.split("/");
  if (runs !== "runs" || artifacts !== "artifacts" || rest.length > 0 || !isRunUid(runUid)) {
    throw new ArtifactInvalidError(`"${path}" is not of the form runs/<run-uid>/artifacts/<name>`);
  }
  const violation = checkArtifactName(name);
  if (violation !== undefined) throw new ArtifactInvalidError(`"${path}": ${violation.message}`);
  return { runUid, name };
}

const storedAt = /(?:^|\/)runs\/([^/]+)\/artifacts\/[^/]+$/;

/** UID of the Run whose artifact a reference points to, in whatever store; undefined when it points nowhere. */
export function runUidOf({ location }: Pick<ArtifactRef, "location">): string | undefined {
  return storedAt.exec(location.filesystem?.path ?? location.s3?.key ?? "")?.[1];
}
