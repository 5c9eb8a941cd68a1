import { defineConfig } from "vitest/config";

const setupFiles = ["test/setup/fast-check.ts"];

/** Each project is one layer of tests; `npm test -- --project NAME` runs one of them. */
export default defineConfig({
  test: {
    // The default leaves one core free, which is half of a small machine.
    maxWorkers: "100%",
    projects: [
      {
        test: {
          name: "unit",
          // Pure modules have no state to share: loading them once for each worker saves most of the time.
          isolate: false,
          setupFiles,
          include: [
            "{api,machines,kube,workflows,controllers,runtime,webhook,extension-api,local,cli,scripts}/**/*.test.ts",
          ],
          // Many of them count on nothing but CPU, which a busy machine has little of.
          testTimeout: 60_000,
        },
      },
      {
        test: { name: "model", isolate: false, setupFiles, include: ["test/model/**/*.test.ts"], testTimeout: 60_000 },
      },
      { test: { name: "fuzz", isolate: false, setupFiles, include: ["test/fuzz/**/*.test.ts"], testTimeout: 60_000 } },
      {
        test: {
          name: "integration",
          setupFiles,
          include: ["test/integration/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      { test: { name: "simulation", setupFiles, include: ["test/simulation/**/*.test.ts"], testTimeout: 120_000 } },
    ],
  },
});
