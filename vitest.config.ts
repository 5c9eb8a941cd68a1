import { defineConfig } from "vitest/config";

const common = {
  // Modules have no state that tests share: loading them once for each worker, not for each file, saves a quarter of the time.
  // A test that replaces a module (`vi.mock`) needs its own, and is at home in test/local.
  isolate: false,
  setupFiles: ["test/setup/fast-check.ts"],
  // Many tests count on nothing but CPU, which a busy machine has little of.
  testTimeout: 60_000,
};

/** Each project is one layer of tests; `npm test -- --project NAME` runs one of them. */
export default defineConfig({
  test: {
    // The default leaves one core free, which is half of a small machine.
    maxWorkers: "100%",
    projects: [
      {
        test: {
          ...common,
          name: "unit",
          include: [
            "{api,machines,kube,workflows,controllers,runtime,webhook,extension-api,local,cli,scripts}/**/*.test.ts",
          ],
        },
      },
      { test: { ...common, name: "model", include: ["test/model/**/*.test.ts"] } },
      { test: { ...common, name: "fuzz", include: ["test/fuzz/**/*.test.ts"] } },
      { test: { ...common, name: "integration", include: ["test/integration/**/*.test.ts"], hookTimeout: 60_000 } },
      { test: { ...common, name: "simulation", include: ["test/simulation/**/*.test.ts"], testTimeout: 120_000 } },
    ],
  },
});
