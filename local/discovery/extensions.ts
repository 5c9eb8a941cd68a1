import type { ApiHandler } from "#kube/memory.ts";
import type { ApiResource, Group } from "./resources.ts";

/** Groups that are served beside the API server, as their own discovery describes them. */
export async function extensionGroups(extensions: Readonly<Record<string, ApiHandler>>): Promise<readonly Group[]> {
  return Promise.all(
    Object.entries(extensions).map(async ([root, handler]) => {
      const group = (await handler.handle({ method: "GET", path: root })) as { versions: { version: string }[] };
      const versions = group.versions.map(async ({ version }) => {
        const list = (await handler.handle({ method: "GET", path: `${root}/${version}` })) as {
          resources: readonly ApiResource[];
        };
        return { version, resources: list.resources };
      });
      return { name: root.replace(/^\/apis\//, ""), versions: await Promise.all(versions) };
    }),
  );
}
