import type { KubeObject } from "#api/meta.ts";
import { listAll } from "#kube/client.ts";
import type { ListOptions, ResourceType } from "#kube/resource.ts";
import { printable } from "#workflows/text.ts";
import { namespaceProblem } from "../cluster/errors.ts";
import { listTable } from "../cluster/list-table.ts";
import type { Session } from "../cluster/session.ts";
import { type Format, show } from "../output/format.ts";
import { tableLines } from "../output/table.ts";

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
  resource: ResourceType<T>,
  options: ShowListOptions<T>,
  session: Session,
): Promise<void> {
  const { allNamespaces } = options;
  const text = await listText(resource, options, session);
  if (text === undefined && !allNamespaces) {
    const problem = await namespaceProblem(session);
    if (problem !== undefined) throw problem;
  }
  if (text === undefined && options.format.as === "table") {
    const { labelSelector, fieldSelector, keep } = options;
    const narrowed = labelSelector !== undefined || fieldSelector !== undefined || keep !== undefined;
    const where = allNamespaces ? "in the cluster" : `in namespace ${session.namespace}`;
    session.env.err.write(`There is no ${resource.kind} ${narrowed ? "like that " : ""}${where}.\n`);
    return;
  }
  const { format } = options;
  session.env.out.write(text ?? (await show([], { resource, format, now: 0, list: true })));
}

/** @returns undefined when there is nothing */
async function listText<T extends KubeObject>(
  resource: ResourceType<T>,
  options: ShowListOptions<T>,
  { client, env, namespace }: Session,
): Promise<string | undefined> {
  const { format, allNamespaces, keep, labelSelector, fieldSelector } = options;
  const selection = { namespace: allNamespaces ? undefined : namespace, labelSelector, fieldSelector };
  if (format.as === "table" && keep === undefined) {
    // The server makes the cells: of many objects a fraction of their size travels.
    const table = await listTable(client.transport, resource, { ...selection, wide: format.wide });
    if (table.rows.length === 0) return undefined;
    const rows = table.rows.map((cells) => cells.map(printable));
    return `${tableLines(table.headers, rows).join("\n")}\n`;
  }
  const list = await listAll(client.of(resource), { ...selection, limit: pageSize });
  const items = keep === undefined ? list.items : list.items.filter(keep);
  if (items.length === 0) return undefined;
  return show(items, { resource, format, now: env.clock.now(), allNamespaces, list: true });
}
