import type { Transport } from "#kube/transport.ts";

/** Reads all Runs in pages of 500, as kubectl does. */
export async function pageThrough(transport: Transport, accept: string): Promise<{ count: number; ms: number }> {
  const begin = performance.now();
  let count = 0;
  for (let token: string | undefined = ""; token !== undefined; ) {
    const page: { metadata: { continue?: string }; items?: unknown[]; rows?: unknown[] } = await transport.request({
      method: "GET",
      path: "/apis/kruntimes.io/v1alpha1/namespaces/default/runs",
      query: { limit: "500", ...(token === "" ? {} : { continue: token }) },
      accept,
    });
    count += (page.items ?? page.rows ?? []).length;
    token = page.metadata.continue;
  }
  return { count, ms: performance.now() - begin };
}
