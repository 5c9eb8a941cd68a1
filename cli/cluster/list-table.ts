import type { KubeObject } from "#api/meta.ts";
import { type ListOptions, pathOf, type ResourceType } from "#kube/resource.ts";
import { isGone, type Transport } from "#kube/transport.ts";

/** Answer to a list that is asked for as a table: the server fills the cells, and objects do not travel. */
interface TablePage {
  readonly metadata: { readonly continue?: string };
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[] | null;
  readonly rows: readonly {
    readonly cells: readonly unknown[];
    readonly object?: Pick<KubeObject, "metadata">;
  }[];
}

export interface ListedTable {
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface TableOptions extends Pick<ListOptions, "namespace" | "labelSelector" | "fieldSelector"> {
  /** With the columns that `-o wide` adds. */
  readonly wide: boolean;
}

const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";

/** Rows in one answer: few round trips, and answers that the server makes in a moment. */
const pageSize = 2500;

/**
 * A list as the table that kubectl shows, with a first column for the namespace when none is given. When the snapshot of the list
 * expires between two pages it starts again; the third time the error is thrown.
 */
export async function listTable(
  transport: Transport,
  resource: ResourceType<KubeObject>,
  options: TableOptions,
): Promise<ListedTable> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readPages(transport, resource, options);
    } catch (error) {
      if (!isGone(error) || attempt === 3) throw error;
    }
  }
}

async function readPages(
  transport: Transport,
  resource: ResourceType<KubeObject>,
  { namespace, labelSelector, fieldSelector, wide }: TableOptions,
): Promise<ListedTable> {
  const rows: string[][] = [];
  let columns: number[] = [];
  let headers: string[] = [];
  for (let token: string | undefined; ; ) {
    const page: TablePage = await transport.request({
      method: "GET",
      path: pathOf(resource, { namespace }),
      query: {
        labelSelector,
        fieldSelector,
        limit: String(pageSize),
        continue: token,
        includeObject: namespace === undefined ? "Metadata" : "None",
      },
      accept,
    });
    if (token === undefined) {
      const all = page.columnDefinitions ?? [];
      columns = [...all.keys()].filter((at) => wide || all[at]?.priority === 0);
      headers = columns.map((at) => all[at]?.name.toUpperCase() ?? "");
    }
    for (const { cells, object } of page.rows) {
      const shown = columns
        .map((at) => cells[at])
        .map((cell) => (cell === null || cell === undefined ? "" : String(cell)));
      rows.push(namespace === undefined ? [object?.metadata.namespace ?? "", ...shown] : shown);
    }
    token = page.metadata.continue || undefined;
    if (token === undefined) return { headers: namespace === undefined ? ["NAMESPACE", ...headers] : headers, rows };
  }
}
