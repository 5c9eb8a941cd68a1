import type { KubeObject } from "#api/meta.ts";
import type { Client, ResourceType } from "#kube/resource.ts";

/**
 * Resolves with the object once it satisfies `holds`; driven by its watch.
 * @throws Error with the last state after `ms` milliseconds.
 */
export async function until<T extends KubeObject>(
  client: Client,
  resource: ResourceType<T>,
  { name, namespace }: { readonly name: string; readonly namespace: string },
  holds: (object: T) => boolean,
  ms: number,
): Promise<T> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), ms);
  let last: T | undefined;
  try {
    const events = await client.of(resource).watch({
      namespace,
      fieldSelector: `metadata.name=${name}`,
      signal: limit.signal,
    });
    for await (const event of events) {
      if (event.type !== "ADDED" && event.type !== "MODIFIED") continue;
      last = event.object;
      if (holds(event.object)) return event.object;
    }
  } finally {
    clearTimeout(timer);
    limit.abort();
  }
  throw new Error(`${resource.kind} ${name} did not get there in ${ms} ms; its last state: ${JSON.stringify(last)}`);
}
