/** Before all others, which then find it there. */
import { expect, test } from "vitest";
import { installPlatform, platformNamespace, release } from "../platform.ts";
import { attempt, helm, kubectl } from "../support.ts";

test("the chart is installed by Helm, and all of it works", { timeout: 400_000 }, async () => {
  // An earlier run that was killed while Helm worked: Helm itself would wait for it for ever.
  const { code, stdout } = await attempt("helm", ["status", release, "-n", platformNamespace, "-o", "json"]);
  if (code === 0 && JSON.parse(stdout).info.status.startsWith("pending")) {
    await helm(["uninstall", release, "-n", platformNamespace, "--wait"]);
  }
  await installPlatform();
  for (const component of ["scheduler", "controller", "webhook"]) {
    const deployment = `deployment/${release}-${component}`;
    const said = await kubectl(["rollout", "status", deployment, "-n", platformNamespace, "--timeout=60s"]);
    expect(said).toContain("successfully rolled out");
  }
});
