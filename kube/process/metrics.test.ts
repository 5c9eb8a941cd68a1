import { expect, test } from "vitest";
import { by, exposition, single } from "./metrics.ts";

test("metrics are written as a scrape expects them", () => {
  const text = exposition([
    single("up_seconds", "gauge", "Seconds\nsince \\ the start.", 1.5),
    by("result", "tries_total", "counter", "Tries.", { good: 3, bad: 0 }),
    { name: "empty", type: "gauge", help: "Nothing yet.", samples: [] },
  ]);
  expect(text).toBe(
    [
      "# HELP up_seconds Seconds\\nsince \\\\ the start.",
      "# TYPE up_seconds gauge",
      "up_seconds 1.5",
      "# HELP tries_total Tries.",
      "# TYPE tries_total counter",
      'tries_total{result="good"} 3',
      'tries_total{result="bad"} 0',
      "# HELP empty Nothing yet.",
      "# TYPE empty gauge",
      "",
    ].join("\n"),
  );
});

test("label values and values without a digit are escaped and spelled", () => {
  const samples = [{ labels: { a: 'x"y\\z\nw', b: "" }, value: Number.POSITIVE_INFINITY }];
  expect(exposition([{ name: "m", type: "gauge", help: "", samples }])).toContain('m{a="x\\"y\\\\z\\nw",b=""} +Inf\n');
  expect(exposition([single("m", "gauge", "", Number.NEGATIVE_INFINITY)])).toContain("m -Inf\n");
});
