import fc from "fast-check";

type Json = unknown;
interface Place {
  readonly parent: Record<string, Json> | Json[];
  readonly key: string;
}
type Edit = (root: Json) => void;

/** A text that {@link jsonText} writes as lists in lists, deeper than a value could be written. */
const deepMarker = "(very deep)";

/** Values that code which expects another one trips over. */
const oddTexts = [
  "",
  "__proto__",
  "constructor",
  "../..",
  "a\u0000b",
  "\ud800",
  "${{ steps.a.outputs.b }}",
  "${{",
  "1e999",
  "2026-01-01T00:00:00Z",
  "x".repeat(300),
  "1h",
  "é\n",
  deepMarker,
];
export const oddValue: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(null, true, false, 0, -1, 0.5, 2 ** 31, 2 ** 53, 1e308),
  fc.constantFrom<Json>(...oddTexts),
  fc.constantFrom<Json>([], {}, [null], { a: null }, [[]]),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Deeper than anybody writes; from some 4,000 levels on `JSON.stringify` gives up. */
const depths = fc.constantFrom(3, 60, 300, 1_200);

const veryDeep = 8_000;

/** The JSON text of a mutated value; once is deep enough. */
export const jsonText = (value: Json): string =>
  JSON.stringify(value).replace(`"${deepMarker}"`, "[".repeat(veryDeep) + "]".repeat(veryDeep));

/** Members and items beyond which nothing is changed any more: a list of lists of lists would fill the memory. */
const maxPlaces = 2_000;

/** JSON values of real examples with a few members and items changed. */
export function mutatedJson(examples: readonly Json[]): fc.Arbitrary<Json> {
  const texts = examples.map((example) => JSON.stringify(example));
  const where = fc.nat({ max: 0xffff });
  const edit: fc.Arbitrary<Edit> = fc.oneof(
    where.map((at): Edit => on(at, remove)),
    {
      weight: 3,
      arbitrary: fc.tuple(where, oddValue).map(
        ([at, value]): Edit =>
          on(
            at,
            set(() => structuredClone(value)),
          ),
      ),
    },
    fc.tuple(where, where).map(
      ([at, from]): Edit =>
        (root) => {
          const there = find(root, from);
          if (there === undefined) return;
          const copy = JSON.stringify(read(there));
          on(
            at,
            set(() => JSON.parse(copy)),
          )(root);
        },
    ),
    fc
      .tuple(where, fc.constantFrom(...oddTexts, "name", "spec", "uid"))
      .map(([at, name]): Edit => on(at, rename(name))),
    fc.tuple(where, fc.constantFrom(2, 70, 1100)).map(
      ([at, times]): Edit =>
        on(
          at,
          set((old) => repeated(old, times)),
        ),
    ),
    {
      weight: 1,
      arbitrary: fc.tuple(where, depths).map(
        ([at, depth]): Edit =>
          on(
            at,
            set((old) => nested(old, depth)),
          ),
      ),
    },
  );
  return fc.tuple(fc.nat({ max: texts.length - 1 }), fc.array(edit, { maxLength: 5 })).map(([index, changes]) => {
    const root = { value: JSON.parse(texts[index] ?? "null") as Json };
    for (const change of changes) if (placesOf(root).length < maxPlaces) change(root);
    return root.value ?? null;
  });
}

const on =
  (at: number, change: (place: Place) => void): Edit =>
  (root) => {
    const place = find(root, at);
    if (place !== undefined) change(place);
  };

function find(root: Json, at: number): Place | undefined {
  const places = placesOf(root);
  return places[at % Math.max(1, places.length)];
}

/** Every member and item, the outermost first. Not a recursion: values may be deep. */
function placesOf(root: Json): Place[] {
  const places: Place[] = [];
  const queue: Json[] = [root];
  for (let next = 0; next < queue.length; next++) {
    const value = queue[next];
    if (typeof value !== "object" || value === null) continue;
    const parent = value as Place["parent"];
    for (const key of Object.keys(parent)) {
      places.push({ parent, key });
      queue.push(Reflect.get(parent, key));
    }
  }
  return places;
}

const read = ({ parent, key }: Place): Json => Reflect.get(parent, key);

const set =
  (change: (old: Json) => Json) =>
  (place: Place): void => {
    define(place.parent, place.key, change(read(place)));
  };

function remove({ parent, key }: Place): void {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
}

const rename =
  (name: string) =>
  (place: Place): void => {
    if (Array.isArray(place.parent)) return;
    const value = read(place);
    remove(place);
    define(place.parent, name, value);
  };

/** Not an assignment: a member may be named `__proto__`. */
function define(parent: Place["parent"], key: string, value: Json): void {
  Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true });
}

/** What is large already is repeated less. */
function repeated(value: Json, times: number): Json {
  return Array<Json>(Math.min(times, Math.ceil((10 * maxPlaces) / (placesOf(value).length + 1)))).fill(value);
}

function nested(value: Json, depth: number): Json {
  let result = value;
  for (let level = 0; level < depth; level++) result = level % 2 === 0 ? [result] : { a: result };
  return result;
}
