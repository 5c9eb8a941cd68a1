/**
 * The embedded API server: Kubernetes' rules for our kinds and the few built-in ones that we use, in this process.
 *
 * Where it differs from Kubernetes 1.34 on purpose:
 * - no RBAC (everybody who gets in may do everything), no managedFields and no server-side apply; access reviews are answered "allowed";
 * - built-in kinds have no schema: unknown members of their specs are kept, also under `fieldValidation=Strict`;
 * - strategic merge patch is refused (415);
 * - integers in rules are exact up to 2^53 and an error beyond, rules have no cost limit, and functions outside the
 *   documented subset of CEL are refused when the CRD is loaded;
 * - a Pod may be bound by an update of `spec.nodeName`, not only through `pods/binding`;
 * - a refused JSON patch says why in `details.causes`, and an unknown resource is answered with what there is;
 * - collections are deleted without regard to `limit`, and one history of changes serves watches and pages.
 */

export type { AdmissionRequest, AdmissionRule, Violation } from "./admission.ts";
export type { Counters } from "./counters.ts";
export type { CustomResourceDefinition } from "./crd/types.ts";
export type { Fault, FaultHooks, FaultRequest, WatchEventFault, WatchInfo } from "./faults.ts";
export { createMemoryStorage } from "./memory-storage.ts";
export { type ApiServer, type ApiServerOptions, createApiServer } from "./server.ts";
export type { Change, Storage, StorageKey } from "./storage.ts";
export type { Answer, Kind, StoredObject, UserInfo } from "./types.ts";
