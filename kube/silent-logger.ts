import type { Logger } from "#kube/ports.ts";

const nothing = (): void => {};

/** Drops everything: for tests and for callers that have no use for logs. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
