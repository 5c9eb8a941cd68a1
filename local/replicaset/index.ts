export { createReplicaSetController, type ReplicaSetController, type ReplicaSetControllerDeps } from "./controller.ts";
export { deletionCostAnnotation } from "./rank.ts";
