/**
 * What a waiting Run can wait for, within one pool. A class of waiting Runs is woken by these and by nothing else, so that an
 * event costs as much as there are Runs it can help.
 */
export type Topic = "runtime" | "pods" | "capacity" | "affinity" | `pod:${string}` | `workspace:${string}`;

/** The Runtime of the pool appeared, changed or went. */
export const runtimeTopic: Topic = "runtime";
/** A Pod of the pool became available, or stopped to be. */
export const podsTopic: Topic = "pods";
/** Something was freed on a Pod of the pool. */
export const capacityTopic: Topic = "capacity";
/** A Run started or ended on a Pod of the pool. */
export const affinityTopic: Topic = "affinity";
/** Either of the two above, on that very Pod. */
export const podTopic = (podKey: string): Topic => `pod:${podKey}`;
/** That workspace of the namespace changed. */
export const workspaceTopic = (name: string): Topic => `workspace:${name}`;
