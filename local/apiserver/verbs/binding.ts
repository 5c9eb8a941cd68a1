import { type Context, timestamp } from "../context.ts";
import { copyBody } from "../decode.ts";
import { badRequest, conflict } from "../errors.ts";
import { getPath, isObject } from "../json.ts";
import type { Answer, Draft, StoredObject, VerbRequest } from "../types.ts";
import { mutate } from "./update.ts";

/** POST to `pods/NAME/binding`: puts a Pod on a node, once. */
export async function bind(context: Context, request: VerbRequest): Promise<Answer> {
  const body = copyBody(request.body);
  const node = getPath(body, ["target", "name"]);
  if (typeof node !== "string" || node === "") throw badRequest("target.name: Required value: the node to bind to");
  await mutate(context, request, (old) => ({ draft: bound(old, node, context.clock.now(), request), warnings: [] }));
  return {
    code: 201,
    body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 },
    warnings: [],
  };
}

function bound(old: StoredObject, node: string, now: number, { target }: VerbRequest): Draft {
  const { name, deletionTimestamp } = old.metadata;
  if (deletionTimestamp !== undefined)
    throw conflict(target.kind, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  const current = getPath(old, ["spec", "nodeName"]);
  if (typeof current === "string" && current !== "") {
    throw conflict(target.kind, name, `pod ${name} is already assigned to node "${current}"`);
  }
  const conditions = getPath(old, ["status", "conditions"]);
  const others = (Array.isArray(conditions) ? conditions : []).filter(
    (item: unknown) => !isObject(item) || item.type !== "PodScheduled",
  );
  return {
    ...old,
    metadata: { ...old.metadata },
    spec: { ...(isObject(old.spec) ? old.spec : {}), nodeName: node },
    status: {
      ...(isObject(old.status) ? old.status : {}),
      conditions: [
        ...others,
        { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: timestamp(now) },
      ],
    },
  };
}
