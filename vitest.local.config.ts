import { defineConfig } from "vitest/config";

/** Long tests, most of them of whole programs as processes: `npm run test:local`. Apart from `npm test`, because they take minutes. */
export default defineConfig({
  test: {
    name: "local",
    include: ["test/local/**/*.test.ts"],
    testTimeout: 420_000,
    hookTimeout: 60_000,
  },
});
