import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import type { Clock, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import { localAdmission } from "#local/admission.ts";
import { createApiServer } from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";

/** An API server in this process with the schemas and the admission rules of a cluster, and nothing that acts on objects. */
export function judge(clock: Clock, random: Random): { readonly client: Client; close(): void } {
  const client = createClient(memoryTransport({ handle: (r) => api.handle(r), watch: (r) => api.watch(r) }, clock));
  const api = createApiServer({
    crds: platformCrds(),
    admission: [localAdmission(() => client, clock)],
    clock,
    random,
  });
  return { client, close: () => api.close() };
}
