import { customResourceDefinition } from "#api/crd/crd.ts";
import { kinds } from "#api/crd/kinds.ts";
import type { CelRule } from "#api/schema.ts";
import type { CustomResourceDefinition } from "#local/apiserver/index.ts";
import { statusRules } from "#machines/status-rules.ts";

/** The definitions that `crds/` holds, made from the same sources: reading the files would take five times as long. */
export function platformCrds(): CustomResourceDefinition[] {
  const rules: Readonly<Record<string, CelRule>> = statusRules();
  return Object.entries(kinds).map(
    ([kind, entry]) => customResourceDefinition(entry, rules[kind]) as unknown as CustomResourceDefinition,
  );
}
