import type { Random } from "#kube/ports.ts";

/**
 * A repeatable source of randomness: the same seed gives the same numbers on every machine (sfc32, seeded by
 * splitmix32). Not for secrets.
 */
export function seededRandom(seed: number): Random {
  let mixed = seed >>> 0;
  const mix = (): number => {
    mixed = (mixed + 0x9e3779b9) >>> 0;
    let z = mixed;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) >>> 0;
  };
  let a = mix();
  let b = mix();
  let c = mix();
  let counter = 1;
  const word = (): number => {
    const sum = (a + b + counter) >>> 0;
    counter = (counter + 1) >>> 0;
    a = (b ^ (b >>> 9)) >>> 0;
    b = (c + (c << 3)) >>> 0;
    c = ((c << 21) | (c >>> 11)) >>> 0;
    c = (c + sum) >>> 0;
    return sum;
  };
  for (let round = 0; round < 12; round++) word();

  return {
    next: () => word() / 2 ** 32,
    uuid() {
      const hex = [word(), word(), word(), word()].map((w) => w.toString(16).padStart(8, "0")).join("");
      const variant = "89ab"[Number.parseInt(hex.charAt(16), 16) & 3];
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
    },
  };
}
