import fc from "fast-check";
import { expect, test } from "vitest";
import { Masker, secretPatterns } from "#runtime/logs/masker.ts";

function run(secrets: readonly string[], chunks: readonly (string | Uint8Array)[]): string {
  const masker = new Masker(secretPatterns(secrets));
  const out = chunks.map((chunk) => masker.push(Buffer.from(chunk as string)));
  return Buffer.concat([...out, masker.end()]).toString();
}

const cases: Record<string, { secrets: string[]; chunks: string[]; want: string }> = {
  "a secret is masked wherever it stands": {
    secrets: ["s3cret"],
    chunks: ["a s3cret b s3cret\n"],
    want: "a *** b ***\n",
  },
  "a secret divided over chunks is masked": { secrets: ["s3cret"], chunks: ["x s", "3c", "ret y"], want: "x *** y" },
  "what only begins like a secret is shown": { secrets: ["s3cret"], chunks: ["s3c", "ow s3"], want: "s3cow s3" },
  "the longer of two secrets wins": { secrets: ["abc", "abcdef"], chunks: ["abcdef abc"], want: "*** ***" },
  "a longer secret that does not come is still the shorter one": {
    secrets: ["abc", "abcdef"],
    chunks: ["abc", "de!"],
    want: "***de!",
  },
  "overlapping secrets are one mask": { secrets: ["abcd", "cdef"], chunks: ["xabcdefx"], want: "x***x" },
  "overlapping secrets divided over chunks are one mask": {
    secrets: ["abcd", "cdef"],
    chunks: ["xabc", "d", "e", "fx"],
    want: "x***x",
  },
  "two secrets side by side are two masks": { secrets: ["abc"], chunks: ["abcabc"], want: "******" },
  "a secret that repeats itself is one mask": { secrets: ["aaa"], chunks: ["aa", "aa", "a!"], want: "***!" },
  "each line of a key is masked": {
    secrets: ["line-one\nline-two\r\n"],
    chunks: ["> line-one\n> line-two\n"],
    want: "> ***\n> ***\n",
  },
  "the newline at the end of a secret does not matter": { secrets: ["token\n"], chunks: ["token."], want: "***." },
  "short lines of a secret are not masked": { secrets: ["ab\n\ntoken"], chunks: ["ab token\n\n"], want: "ab ***\n\n" },
  "characters with special meaning in patterns are plain": {
    secrets: ["a.*+[b"],
    chunks: ["a.*+[b axxb"],
    want: "*** axxb",
  },
  "no secrets, no change": { secrets: [], chunks: ["abc"], want: "abc" },
  "multi-byte secrets": { secrets: ["größe€"], chunks: ["die größe€!"], want: "die ***!" },
};

test.each(Object.entries(cases))("%s", (_, { secrets, chunks, want }) => {
  expect(run(secrets, chunks)).toBe(want);
});

test("a line without a secret is never held back", () => {
  const masker = new Masker(secretPatterns(["secret", "other secret"]));
  expect(Buffer.from(masker.push(Buffer.from("all secret\n"))).toString()).toBe("all ***\n");
});

test("what may become a secret is held back until it is decided", () => {
  const masker = new Masker(secretPatterns(["secret"]));
  expect(Buffer.from(masker.push(Buffer.from("x sec"))).toString()).toBe("x ");
  expect(Buffer.from(masker.push(Buffer.from("tion"))).toString()).toBe("section");
});

test("secrets that are not text are masked", () => {
  const secret = Uint8Array.from([0xff, 0xfe, 0x00, 0x41]);
  const masker = new Masker(secretPatterns([secret]));
  const out = Buffer.concat([
    masker.push(Uint8Array.from([0x78, 0xff, 0xfe])),
    masker.push(Uint8Array.from([0x00, 0x41, 0x79])),
  ]);
  expect(Buffer.concat([out, masker.end()]).toString()).toBe("x***y");
});

// A small alphabet makes overlaps, repetitions and false starts likely.
const word = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom("a", "b", "\n"), minLength: min, maxLength: max });

test("the result does not depend on the chunks, and no secret is left in it", () => {
  fc.assert(
    fc.property(fc.array(word(1, 8), { maxLength: 4 }), fc.array(word(0, 10), { maxLength: 12 }), (secrets, chunks) => {
      const masked = run(secrets, chunks);
      expect(masked).toBe(run(secrets, [chunks.join("")]));
      for (const pattern of secretPatterns(secrets)) expect(masked).not.toContain(pattern.toString());
    }),
    { numRuns: 2000 },
  );
});

test("without secrets in it, output passes unchanged", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (chunks) => {
      const masker = new Masker(secretPatterns(["a secret that is not there"]));
      const out = Buffer.concat([...chunks.map((chunk) => masker.push(chunk)), masker.end()]);
      expect(out.equals(Buffer.concat(chunks))).toBe(true);
    }),
  );
});
