/** Every server component by the name under which `kruntimes` starts it; each is loaded only when it is started. */
export const components: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  scheduler: async (args) => (await import("../controllers/scheduler/main.ts")).main(args),
  controller: async (args) => (await import("../controllers/main.ts")).main(args),
  webhook: async (args) => (await import("../webhook/main.ts")).main(args),
  "run-extension-api": async (args) => (await import("../extension-api/server/main.ts")).main(args),
  agent: async (args) => {
    // Nobody is left to drain for.
    whenParentEnds(() => process.exit(1));
    return (await import("../runtime/agent/main.ts")).main(args);
  },
  executor: async (args) => {
    // As a container's stop: the programs are ended before the process is.
    whenParentEnds(() => process.kill(process.pid, "SIGTERM"));
    return (await import("../runtime/executor/command.ts")).main(args);
  },
  inject: async (args) => (await import("../runtime/injector/main.ts")).main(args),
};

/** Under a local cluster a channel to it is open; when the cluster goes, however it goes, its processes go too. */
function whenParentEnds(end: () => void): void {
  process.once("disconnect", end);
  process.channel?.unref();
}
