import { ArtifactInvalidError, type StoreOwner } from "#runtime/artifacts/store.ts";

/** Name of the marker beside the `artifacts` directory of a Run. */
export const ownerMarkerName = "owner.json";
/** A marker is small; more is not one of ours. */
export const maxOwnerMarkerBytes = 4096;

/** Content of the marker. */
export function encodeOwner({ clusterUid, namespace }: StoreOwner): string {
  return `${JSON.stringify({ clusterUid, namespace })}\n`;
}

export function isOwner(marker: string, owner: StoreOwner): boolean {
  return marker === encodeOwner(owner);
}

/** Refuses bytes of somebody else, whatever the reference says. The message does not tell whose they are. */
export function foreignError(runUid: string): ArtifactInvalidError {
  return new ArtifactInvalidError(
    `the artifacts of Run ${runUid} belong to another cluster or namespace; only artifacts of the own one can be read`,
  );
}
