import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const common = {
  setupFiles: ["test/setup/fast-check.ts"],
  testTimeout: 120_000,
  hookTimeout: 180_000,
};

/**
 * `npm run test:cluster`: what only a real Kubernetes and real images show. Most tests share one installation, each in a
 * namespace of its own, and wait more than they compute: some files run at the same time. Those of `alone/` change or stop
 * what is installed, so each has the cluster to itself; `first/` installs it. (Vitest puts a group of
 * number 0 with one worker last.)
 */
export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    globalSetup: ["test/cluster/setup.ts"],
    projects: [
      {
        test: {
          ...common,
          name: "first",
          include: ["test/cluster/first/*.test.ts"],
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...common,
          name: "cluster",
          include: ["test/cluster/*.test.ts"],
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...common,
          name: "alone",
          include: ["test/cluster/alone/*.test.ts"],
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
