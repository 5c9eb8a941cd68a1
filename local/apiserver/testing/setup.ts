import type { KubeObject } from "#api/meta.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import type { Client, ResourceType } from "#kube/resource.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { StatusError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import type { CustomResourceDefinition, SchemaSource } from "../crd/types.ts";
import { type ApiServer, type ApiServerOptions, createApiServer } from "../server.ts";

/** A server under a virtual clock, with a client on a memory transport. For tests. */
export interface Setup {
  readonly server: ApiServer;
  readonly client: Client;
  readonly clock: VirtualClock;
}

/** A server with {@link Widget} unless `crds` say otherwise. */
export function setup(options: Partial<ApiServerOptions> = {}): Setup {
  const clock = new VirtualClock();
  const server = createApiServer({ crds: [widgetCrd()], clock, random: seededRandom(1), ...options });
  return { server, client: createClient(memoryTransport(server, clock)), clock };
}

/** The custom kind of the tests. */
export interface Widget extends KubeObject {
  spec?: { size?: number; color?: string; [field: string]: unknown };
  status?: { phase?: string; [field: string]: unknown };
  [field: string]: unknown;
}

/** How clients address {@link Widget}. */
export const widgets: ResourceType<Widget> = {
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
};

const openSchema: SchemaSource = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: { color: { type: "string" } },
      "x-kubernetes-preserve-unknown-fields": true,
    },
    status: {
      type: "object",
      properties: { phase: { type: "string" } },
      "x-kubernetes-preserve-unknown-fields": true,
    },
  },
};

/** A CRD for {@link Widget}; `schema` replaces the schema of the whole object. */
export function widgetCrd(schema: SchemaSource = openSchema): CustomResourceDefinition {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { kind: "Widget", plural: "widgets", singular: "widget", listKind: "WidgetList", shortNames: ["wd"] },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: { status: {} },
          ...(schema === openSchema
            ? { selectableFields: [{ jsonPath: ".spec.color" }, { jsonPath: ".status.phase" }] }
            : {}),
        },
      ],
    },
  };
}

/** A {@link Widget} in the namespace `default`. */
export function widget(
  name: string,
  spec: Widget["spec"] = {},
  metadata: Partial<KubeObject["metadata"]> = {},
): Widget {
  return { metadata: { name, namespace: "default", ...metadata }, spec };
}

/** The StatusError that a call ends with; fails when it succeeds or throws something else. */
export async function refusal(call: Promise<unknown>): Promise<StatusError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  throw new Error("the request was accepted");
}

/** The next `count` values of a stream. */
export async function take<T>(events: AsyncIterable<T>, count: number): Promise<T[]> {
  const iterator = events[Symbol.asyncIterator]();
  const values: T[] = [];
  while (values.length < count) {
    const result = await iterator.next();
    if (result.done) break;
    values.push(result.value);
  }
  return values;
}
