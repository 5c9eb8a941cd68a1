import { isNotFound } from "#kube/transport.ts";

/** What a read gives, or undefined when there is no such object. Every other error passes. */
export async function orNothing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
