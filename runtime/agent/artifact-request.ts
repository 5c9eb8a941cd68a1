import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { checkArtifactName } from "#api/paths.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { isRunUid } from "#runtime/artifacts/location.ts";

/** What a reader asks for: `GET /runs/<uid>/artifacts/<name>?run=NAME` (or `workflowRun=NAME`). */
export interface ArtifactRequest {
  readonly runUid: string;
  readonly name: string;
  /** The object whose status has the reference. */
  readonly holder: { readonly kind: "Run" | "WorkflowRun"; readonly name: string };
}

const form = /^\/runs\/([^/]+)\/artifacts\/([^/]+)$/;

/** @throws StatusError 404 or 400 for anything else. */
export function parseArtifactRequest(url: string): ArtifactRequest {
  const { pathname, searchParams } = new URL(url, "http://agent");
  const [, runUid = "", encoded] = form.exec(pathname) ?? [];
  const name = encoded === undefined ? undefined : decoded(encoded);
  if (name === undefined || !isRunUid(runUid) || checkArtifactName(name) !== undefined) {
    throw new StatusError(failure(404, "NotFound", `there is no ${pathname}; it is /runs/<uid>/artifacts/<name>`));
  }
  const run = searchParams.get("run");
  const workflowRun = searchParams.get("workflowRun");
  if ((run === null) === (workflowRun === null)) {
    throw new StatusError(failure(400, "BadRequest", "exactly one of run and workflowRun names who has the reference"));
  }
  const holder =
    run === null ? { kind: "WorkflowRun" as const, name: workflowRun ?? "" } : { kind: "Run" as const, name: run };
  return { runUid, name, holder };
}

/** Whether the reference is the one that is asked for: by where the bytes are, whatever name it goes by. */
export function isRefOf({ location }: ArtifactRef, { runUid, name }: ArtifactRequest): boolean {
  const path = `runs/${runUid}/artifacts/${name}`;
  if (location.filesystem !== undefined) return location.filesystem.path === path;
  const key = location.s3?.key ?? "";
  return key === path || key.endsWith(`/${path}`);
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
