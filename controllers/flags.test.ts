import { expect, test } from "vitest";
import { parseFlags } from "./flags.ts";

const env = { POD_NAMESPACE: "platform" };
const needed = ["--image=example.com/kruntimes:1", "--agent-role=kruntimes-agent"];

test("what is not said has a default", () => {
  expect(parseFlags(needed, env)).toEqual({
    component: { port: 8080, leaderElect: true, namespace: "platform", logLevel: "info" },
    pool: {
      image: "example.com/kruntimes:1",
      sweepIntervalMs: 3_600_000,
      cluster: {
        imagePullPolicy: undefined,
        imagePullSecrets: [],
        agentRole: "kruntimes-agent",
        agentResources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
      },
    },
    workspaceTtlSeconds: 3600,
    actionTtlSeconds: 86_400,
    deprecatedFields: "honour",
  });
});

test("everything can be said", () => {
  const args = [
    ...needed,
    "--image-pull-policy=Never",
    "--image-pull-secrets=a,b",
    '--agent-resources={"limits":{"cpu":"1"}}',
    "--workspace-ttl=90s",
    "--artifact-sweep-interval=10m",
    "--action-ttl=2h",
    "--deprecated-spec-fields=ignore",
  ];
  const { pool, workspaceTtlSeconds, actionTtlSeconds, deprecatedFields } = parseFlags(args, env);
  expect(pool.sweepIntervalMs).toBe(600_000);
  expect(pool.cluster).toEqual({
    imagePullPolicy: "Never",
    imagePullSecrets: ["a", "b"],
    agentRole: "kruntimes-agent",
    agentResources: { limits: { cpu: "1" } },
  });
  expect(workspaceTtlSeconds).toBe(90);
  expect(actionTtlSeconds).toBe(7200);
  expect(deprecatedFields).toBe("ignore");
});

test.each([
  ["no image", ["--agent-role=r"], "kruntimes controller: --image is missing"],
  ["no role for agents", ["--image=i"], "--agent-role is missing"],
  ["an unknown pull policy", [...needed, "--image-pull-policy=Sometimes"], "one of Always, IfNotPresent, Never"],
  ["resources that are no JSON", [...needed, "--agent-resources=1Gi"], "is no core/v1 ResourceRequirements as JSON"],
  ["resources of another shape", [...needed, '--agent-resources={"cpu":"1"}'], "is no core/v1 ResourceRequirements"],
  ["a TTL without a unit", [...needed, "--workspace-ttl=5"], "--workspace-ttl=5 is no duration; write 30m or 1h"],
])("%s is refused with what to write", (_, args, message) => {
  expect(() => parseFlags(args, env)).toThrow(message);
});
