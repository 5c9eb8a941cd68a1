import type { KindEntry } from "#api/crd/kinds.ts";
import type { KubeObject } from "#api/meta.ts";
import { listAll } from "#kube/client.ts";
import type { ListOptions, ResourceType } from "#kube/resource.ts";
import { namespaceProblem } from "../cluster/errors.ts";
import type { Session } from "../cluster/session.ts";
import { type Format, show } from "../output/format.ts";

/** Objects in one page: few round trips, and answers of a size that the server makes in a moment. */
const pageSize = 1000;

export interface ShowListOptions<T extends KubeObject> extends Pick<ListOptions, "labelSelector" | "fieldSelector"> {
  readonly format: Format;
  readonly allNamespaces: boolean;
  /** What the server cannot tell apart. */
  readonly keep?: (object: T) => boolean;
}

/** Lists objects of a kind and shows them; says so when there are none. */
export async function showList<T extends KubeObject>(
  kind: KindEntry,
  resource: ResourceType<T>,
  options: ShowListOptions<T>,
  session: Session,
): Promise<void> {
  const { format, allNamespaces, keep = () => true, labelSelector, fieldSelector } = options;
  const { client, env, namespace } = session;
  const scope = allNamespaces ? undefined : namespace;
  const list = await listAll(client.of(resource), { namespace: scope, labelSelector, fieldSelector, limit: pageSize });
  const items = list.items.filter(keep);
  if (items.length === 0 && !allNamespaces) {
    const problem = await namespaceProblem(session);
    if (problem !== undefined) throw problem;
  }
  if (items.length === 0 && format.as === "table") {
    const narrowed = labelSelector !== undefined || fieldSelector !== undefined || options.keep !== undefined;
    const where = allNamespaces ? "in the cluster" : `in namespace ${namespace}`;
    env.err.write(`There is no ${resource.kind} ${narrowed ? "like that " : ""}${where}.\n`);
    return;
  }
  env.out.write(show(items, { kind, format, now: env.clock.now(), allNamespaces, list: true }));
}
