import { defineConfig } from "vitest/config";

/** Tests with a real kubectl: `npm run test:kubectl`. Apart from `npm test`, because kubectl may have to be built first. */
export default defineConfig({
  test: {
    name: "kubectl",
    include: ["test/kubectl/**/*.test.ts"],
    globalSetup: ["test/kubectl/support/setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
