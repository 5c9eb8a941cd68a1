import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** `npm run test:cluster`: what only a real Kubernetes and real images show. One file at a time: they share one machine. */
export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    name: "cluster",
    include: ["test/cluster/**/*.test.ts"],
    globalSetup: ["test/cluster/setup.ts"],
    setupFiles: ["test/setup/fast-check.ts"],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
