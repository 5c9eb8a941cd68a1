/** While two releases are at work: what the last one admitted is admitted, in the rules and policies of a real API server. */
import { randomBytes } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { lifecycle } from "#machines/index.ts";
import { describe } from "#machines/lib/describe.ts";
import { moveCheck, writerTables } from "#machines/lib/move-policy.ts";
import { transitionRule } from "#machines/lib/transition-rules.ts";
import { uniteWriters } from "#machines/lib/union.ts";
import { policyObjects } from "#machines/policies.ts";
import { statusRules } from "#machines/status-rules.ts";
import { installPlatform, release, usernameOf } from "./platform.ts";
import { apply, attempt, kubectl, testNamespace } from "./support.ts";

beforeAll(() => installPlatform());

const parse = async (...args: string[]) => JSON.parse(await kubectl(["get", ...args, "-o", "json"]));

test("the rules in force are those that are generated from the charts and from what the last release admitted", async () => {
  for (const [kind, { rule }] of Object.entries(statusRules())) {
    const { items } = await parse("crd", "-l", "app.kubernetes.io/part-of=kruntimes");
    const crd = items.find(({ spec }: { spec: { names: { kind: string } } }) => spec.names.kind === kind);
    const { status } = crd.spec.versions[0].schema.openAPIV3Schema.properties;
    const rules = status["x-kubernetes-validations"].map((one: { rule: string }) => one.rule);
    expect(rules, kind).toContain(rule);
  }
  const identities = { scheduler: usernameOf("scheduler"), controller: usernameOf("controller") };
  for (const wanted of policyObjects(identities, release) as { kind: string; metadata: { name: string } }[]) {
    const { spec } = await parse(wanted.kind, wanted.metadata.name);
    expect({ spec }).toMatchObject({ spec: JSON.parse(JSON.stringify((wanted as unknown as { spec: object }).spec)) });
  }
});

/** A move that only the chart of the last release has: an agent that found its Pod ready before it claimed. */
const before = { Scheduled: ["Ready"], Ready: ["Running"] };

test("an old agent brings to an end what it began, although the chart of today has no such phase", async () => {
  await using namespace = await testNamespace("union");
  const chart = describe(lifecycle("run").machine);
  const name = `union-${randomBytes(3).toString("hex")}`;
  const group = "test.kruntimes.io";
  const { optionalOldSelf, ...rule } = transitionRule(chart, { initial: "Pending", moves: before, reopens: {} });
  const writers = uniteWriters(writerTables(chart), { agent: { moves: before, reopens: {} } });
  const { variables, expression } = moveCheck(writers);
  const phases = [...chart.states.map((state) => state.name), "Ready"];
  const admission = "admissionregistration.k8s.io/v1";
  const objects = [
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${name}s.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { plural: `${name}s`, singular: name, kind: `Union${name.slice(6)}` },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            subresources: { status: {} },
            schema: {
              openAPIV3Schema: {
                type: "object",
                properties: {
                  status: {
                    type: "object",
                    default: { phase: "Pending" },
                    required: ["phase"],
                    properties: { phase: { type: "string", enum: phases }, attempt: { type: "integer" } },
                    "x-kubernetes-validations": [{ ...rule, optionalOldSelf }],
                  },
                },
              },
            },
          },
        ],
      },
    },
    {
      apiVersion: admission,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: {
          resourceRules: [
            { apiGroups: [group], apiVersions: ["v1"], operations: ["UPDATE"], resources: [`${name}s/status`] },
          ],
        },
        variables: [{ name: "writer", expression: "'agent'" }, ...variables],
        validations: [{ expression, reason: "Forbidden" }],
      },
    },
  ];
  const binding = {
    apiVersion: admission,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name },
    spec: { policyName: name, validationActions: ["Deny"] },
  };
  try {
    await apply(objects as never);
    await kubectl(["wait", "crd", `${name}s.${group}`, "--for=condition=Established", "--timeout=30s"]);
    const resource = `${name}s.${group}`;
    const move = (object: string, phase: string, ...more: string[]) => {
      const patch = `--patch={"status":{"phase":"${phase}"}}`;
      return attempt("kubectl", [
        ...["patch", resource, object, "-n", namespace.name, "--subresource=status", "--type=merge", patch, ...more],
      ]);
    };
    const kind = `Union${name.slice(6)}`;
    const made = ["a", "b"].map((each) => ({ apiVersion: `${group}/v1`, kind, metadata: { name: each } }));
    await apply(made, namespace.name);
    // The scheduler's part, before the policy is in force.
    expect((await move("a", "Scheduled")).code).toBe(0);
    await apply([binding] as never);
    // A binding is in force a moment after it was made.
    await expect
      .poll(async () => (await move("b", "Scheduled", "--dry-run=server")).stderr, { timeout: 20_000, interval: 500 })
      .toContain("denied request");
    expect(await move("a", "Ready"), "as the last release did").toMatchObject({ code: 0 });
    expect((await move("a", "Succeeded")).stderr, "no agent does that in either release").toContain("may only move");
    expect(await move("a", "Running"), "as the last release did").toMatchObject({ code: 0 });
    expect((await move("a", "Ready")).stderr, "nor that").toContain("may only move");
    expect(await move("a", "Succeeded"), "as both do").toMatchObject({ code: 0 });
  } finally {
    for (const { kind, metadata } of [binding, ...objects]) {
      await kubectl(["delete", kind, metadata.name, "--ignore-not-found", "--wait=false"]);
    }
  }
});
