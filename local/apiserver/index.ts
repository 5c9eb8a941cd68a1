export type { AdmissionRequest, AdmissionRule, Violation } from "./admission.ts";
export type { Counters } from "./counters.ts";
export type { CustomResourceDefinition } from "./crd/types.ts";
export type { Fault, FaultHooks, FaultRequest, WatchEventFault, WatchInfo } from "./faults.ts";
export { createMemoryStorage } from "./memory-storage.ts";
export { type ApiServer, type ApiServerOptions, createApiServer } from "./server.ts";
export type { Change, Storage, StorageKey } from "./storage.ts";
export type { Answer, Kind, StoredObject, UserInfo } from "./types.ts";
