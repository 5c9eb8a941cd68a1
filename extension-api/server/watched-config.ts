import { type ConfigMap, configMaps } from "#kube/builtin.ts";
import { createInformer } from "#kube/informer.ts";
import type { Clock, Logger, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import { parseRequestHeaders, type RequestHeaders, requestHeaderConfig } from "./request-header.ts";

/**
 * Follows what the API server publishes of its aggregation layer. Resolves with what there is now; `use` is called with each later
 * one. What cannot be used is logged, and the last one stays.
 *
 * @throws Error when there is none that can be used
 */
export async function watchRequestHeaders(
  deps: { readonly client: Client; readonly clock: Clock; readonly random: Random; readonly logger: Logger },
  use: (headers: RequestHeaders) => void,
  signal: AbortSignal,
): Promise<RequestHeaders> {
  const { namespace, name } = requestHeaderConfig;
  const informer = createInformer(deps.client, configMaps, {
    ...deps,
    namespace,
    fieldSelector: `metadata.name=${name}`,
  });
  informer.start(signal);
  await informer.whenSynced(signal);
  const now = informer.get(`${namespace}/${name}`);
  if (now === undefined)
    throw new Error(`there is no ConfigMap ${namespace}/${name}: this is no Kubernetes API server`);
  let current = parseRequestHeaders(now);
  informer.onChange((_, next: ConfigMap | undefined) => {
    try {
      if (next === undefined) throw new Error("it was deleted");
      const headers = parseRequestHeaders(next);
      if (JSON.stringify(headers) === JSON.stringify(current)) return;
      current = headers;
      deps.logger.info("the identity of the aggregation layer has changed", { names: headers.allowedNames.join(",") });
      use(headers);
    } catch (error) {
      deps.logger.warn(`ConfigMap ${namespace}/${name} cannot be used; the last one stays`, { error });
    }
  });
  return current;
}
