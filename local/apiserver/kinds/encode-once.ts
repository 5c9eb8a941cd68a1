import type { StoredObject } from "../types.ts";

/** A conversion from the stored form that is made once for each object, however many read it. */
export function encodeOnce(convert: (object: StoredObject) => object): (object: StoredObject) => StoredObject {
  const done = new WeakMap<StoredObject, StoredObject>();
  return (object) => {
    let encoded = done.get(object);
    if (encoded === undefined) {
      encoded = Object.freeze(convert(object)) as StoredObject;
      done.set(object, encoded);
    }
    return encoded;
  };
}
