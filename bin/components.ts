/** Every server component by the name under which `kruntimes` starts it; each is loaded only when it is started. */
export const components: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  agent: async (args) => {
    endWithParent();
    return (await import("../runtime/agent/main.ts")).main(args);
  },
  executor: async (args) => {
    endWithParent();
    return (await import("../runtime/executor/command.ts")).main(args);
  },
};

/** Under a local cluster a channel to it is open; when the cluster goes, however it goes, its processes go too. */
function endWithParent(): void {
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel?.unref();
}
