import { expect, test } from "vitest";
import { type Admission, LogLimiter } from "#runtime/logs/limits.ts";

const limits = { totalBytes: 1000, bytesPerSecond: 100, burstBytes: 200 };

function feed(steps: readonly (readonly [now: number, bytes: number])[]): {
  admissions: Admission[];
  end: string | undefined;
} {
  const limiter = new LogLimiter(limits, 0);
  const admissions = steps.map(([now, bytes]) => limiter.admit(bytes, now));
  return { admissions, end: limiter.end() };
}

test("output within the burst and the rate is recorded without a word", () => {
  const { admissions, end } = feed([
    [0, 200],
    [1000, 100],
    [2000, 100],
    [4000, 200],
  ]);
  expect(admissions).toEqual(Array(4).fill({ record: true }));
  expect(end).toBeUndefined();
});

test("output over the rate is dropped, and one notice says how much when it is slow again", () => {
  const { admissions, end } = feed([
    [0, 200],
    [0, 50],
    [100, 20],
    [200, 5],
    [1500, 30],
    [1600, 10],
  ]);
  expect(admissions.map(({ record }) => record)).toEqual([true, false, false, false, true, true]);
  expect(admissions[4]?.notice).toMatch(/^3 records \(75 bytes\) were dropped/);
  expect(admissions.filter(({ notice }) => notice !== undefined)).toHaveLength(1);
  expect(end).toBeUndefined();
});

test("drops at the end of the stream are told at its end", () => {
  const { end } = feed([
    [0, 200],
    [0, 50],
  ]);
  expect(end).toMatch(/^1 records \(50 bytes\) were dropped/);
});

test("after the total nothing is recorded, and the log says so once", () => {
  const steps = Array.from({ length: 15 }, (_, i) => [i * 1000, 100] as const);
  const { admissions, end } = feed(steps);
  expect(admissions.map(({ record }) => record)).toEqual([...Array(10).fill(true), ...Array(5).fill(false)]);
  expect(admissions.filter(({ notice }) => notice !== undefined)).toEqual([
    { record: false, notice: expect.stringMatching(/limit of 1000 bytes; further output is not recorded/) },
  ]);
  expect(admissions[10]?.notice).toBeDefined();
  expect(end).toBeUndefined();
});
