/** What the charts render, and what they refuse: hardly anything here needs more than helm. */
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { installPlatform, platformNamespace, release } from "./platform.ts";
import { attempt, helm } from "./support.ts";

const charts = ["kruntimes", "kruntimes-runtimes"] as const;
type Chart = (typeof charts)[number];

const kubeVersion = ["--kube-version", "1.34.0"];

const render = (chart: Chart, values: object, extra: readonly string[] = kubeVersion) =>
  attempt(
    "helm",
    [
      "template",
      chart === "kruntimes" ? "kruntimes" : "runtimes",
      `charts/${chart}`,
      "-n",
      "platform",
      ...extra,
      "--values",
      "-",
    ],
    {
      input: JSON.stringify(values),
    },
  );

const given = {
  tls: {
    source: "secret",
    existingSecret: "mine",
    caBundle: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
  },
};

/** With the certificate of the run-extension-api, too. */
const givenBoth = { webhook: given, runExtensionAPI: { tls: { existingSecret: "mine-too" } } };

/** Values by the name of the committed rendering. Without the kinds and policies: those are committed as they are. */
const renderings: Record<string, { chart: Chart; values: object }> = {
  smallest: { chart: "kruntimes", values: givenBoth },
  "cert-manager": { chart: "kruntimes", values: { webhook: { tls: { source: "cert-manager" } } } },
  everything: {
    chart: "kruntimes",
    values: {
      image: { repository: "example.com/kruntimes", digest: `sha256:${"0".repeat(64)}`, pullPolicy: "Always" },
      imagePullSecrets: ["registry"],
      fullnameOverride: "platform",
      scheduler: {
        replicas: 1,
        logLevel: "debug",
        podLabels: { team: "a" },
        podAnnotations: { note: "b" },
        nodeSelector: { "kubernetes.io/os": "linux" },
        tolerations: [{ key: "control-plane", operator: "Exists" }],
        affinity: { nodeAffinity: {} },
        topologySpreadConstraints: [{ maxSkew: 2, topologyKey: "rack", whenUnsatisfiable: "DoNotSchedule" }],
        priorityClassName: "system-cluster-critical",
      },
      controller: { jobWorkspaceTTL: "30m" },
      webhook: { ...given, failurePolicy: "Ignore", clientCAConfigMap: "api-server-callers" },
      runExtensionAPI: {
        replicas: 3,
        priorityClassName: "",
        tls: { existingSecret: "logs", caBundle: given.tls.caBundle.replace("AAAA", "BBBB") },
      },
      agent: { imagePullSecrets: ["registry"], resources: { requests: { cpu: "10m" } } },
      rbac: { aggregateToDefaultRoles: false },
      podDisruptionBudgets: { enabled: false },
      networkPolicies: { metricsFrom: [], apiServerFrom: [{ ipBlock: { cidr: "10.0.0.10/32" } }] },
      metrics: { serviceMonitor: { enabled: true, labels: { release: "prometheus" } } },
    },
  },
  runtimes: { chart: "kruntimes-runtimes", values: {} },
  "runtimes-everything": {
    chart: "kruntimes-runtimes",
    values: {
      imagePullSecrets: ["registry"],
      artifacts: { enabled: true, storageClassName: "shared" },
      runtimes: {
        bash: {
          replicas: 0,
          env: [{ name: "A", value: "b" }],
          nodeSelector: { disk: "ssd" },
          secrets: ["db"],
          configMaps: ["app"],
        },
        python: { enabled: false },
        node: { image: { repository: "node", tag: "24-slim" }, interpreter: "node", runs: 8 },
      },
    },
  },
};

test.each(Object.entries(renderings))("%s is rendered as committed", async (name, { chart, values }) => {
  const bare = chart === "kruntimes" ? { ...values, crds: { install: false }, policies: { enabled: false } } : values;
  const { stdout, stderr } = await render(chart, bare);
  expect(stderr).toBe("");
  for (const document of parseAllDocuments(stdout)) expect(document.errors).toEqual([]);
  await expect(stdout).toMatchFileSnapshot(`golden/${name}.txt`);
});

test("kinds and policies are rendered whole, with the names of the release in place", async () => {
  const { stdout } = await render("kruntimes", givenBoth);
  const objects = parseAllDocuments(stdout).map((document) => document.toJS());
  const named = (kind: string) =>
    objects.filter((object) => object?.kind === kind).map(({ metadata }) => metadata.name);
  expect(named("CustomResourceDefinition")).toHaveLength(7);
  expect(named("ValidatingAdmissionPolicy")).toEqual(named("ValidatingAdmissionPolicyBinding"));
  expect(stdout).toContain("'system:serviceaccount:platform:kruntimes-controller'");
  expect(stdout).not.toMatch(/KRUNTIMES_[A-Z]/);
  for (const object of objects) {
    if (object?.kind !== "CustomResourceDefinition") continue;
    expect(object.metadata.annotations["helm.sh/resource-policy"]).toBe("keep");
  }
});

test("a release with the longest name there can be gets Services with names that Kubernetes takes", async () => {
  const values = { fullnameOverride: "a".repeat(40), webhook: { tls: { source: "cert-manager" } } };
  const objects = parseAllDocuments((await render("kruntimes", values)).stdout).map((document) => document.toJS());
  const names = objects.filter((object) => object?.kind === "Service").map(({ metadata }) => metadata.name);
  expect(new Set(names).size).toBe(6);
  for (const name of names) expect(name).toMatch(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/);
});

test("the certificates of webhook and run-extension-api are of one authority, made once for a rendering", async () => {
  const { stdout } = await render("kruntimes", { crds: { install: false }, policies: { enabled: false } });
  const objects = parseAllDocuments(stdout).map((document) => document.toJS());
  const bundles = objects.flatMap((object) => [
    object?.spec?.caBundle,
    ...(object?.webhooks ?? []).map((one: { clientConfig: { caBundle: string } }) => one.clientConfig.caBundle),
    object?.type === "kubernetes.io/tls" ? (object.data["ca.crt"] ?? object.data["tls.crt"]) : undefined,
  ]);
  const found = bundles.filter((bundle) => bundle !== undefined);
  expect(found.length).toBe(7);
  expect(new Set(found).size).toBe(1);
  const authority = new X509Certificate(Buffer.from(found[0], "base64"));
  for (const component of ["webhook", "run-extension-api"]) {
    const { data } = objects.find((object) => object?.metadata?.name === `kruntimes-${component}-tls`);
    const leaf = new X509Certificate(Buffer.from(data["tls.crt"], "base64"));
    expect(leaf.verify(authority.publicKey)).toBe(true);
    expect(leaf.checkHost(`kruntimes-${component}.platform.svc`)).toBeDefined();
  }
});

test("runExtensionAPI.enabled=false leaves out all of it", async () => {
  const { stdout } = await render("kruntimes", { webhook: given, runExtensionAPI: { enabled: false } });
  expect(stdout).not.toMatch(/name: \S*run-extension-api|kind: APIService/);
});

const refusals: Record<string, { chart: Chart; values: object; message: string; extra?: readonly string[] }> = {
  "a misspelled value": {
    chart: "kruntimes",
    values: { scheduler: { replica: 2 } },
    message: "at '/scheduler': additional properties 'replica' not allowed",
  },
  "no replicas": {
    chart: "kruntimes",
    values: { webhook: { replicas: 0 } },
    message: "at '/webhook/replicas': minimum",
  },
  "an unknown source of the certificate": {
    chart: "kruntimes",
    values: { webhook: { tls: { source: "vault" } } },
    message: "at '/webhook/tls/source': value must be one of 'chart', 'secret', 'cert-manager'",
  },
  "a Secret without its authority": {
    chart: "kruntimes",
    values: { webhook: { tls: { source: "secret", existingSecret: "mine" } } },
    message: "at '/webhook/tls/caBundle'",
  },
  "a Secret for the webhook and none for the run-extension-api": {
    chart: "kruntimes",
    values: { webhook: given },
    message: "runExtensionAPI.tls.existingSecret is missing",
  },
  "a TTL without a unit": {
    chart: "kruntimes",
    values: { controller: { jobWorkspaceTTL: "90" } },
    message: "at '/controller/jobWorkspaceTTL'",
  },
  "a Runtime with a name that is too long": {
    chart: "kruntimes-runtimes",
    values: { runtimes: { ["a".repeat(41)]: { image: { repository: "x" } } } },
    message: "invalid propertyName",
  },
  "a Runtime without an image": {
    chart: "kruntimes-runtimes",
    values: { runtimes: { mine: {} } },
    message: "missing property 'image'",
  },
  "a Secret that nobody asked for": {
    chart: "kruntimes",
    values: { webhook: { tls: { existingSecret: "mine" } } },
    message: "webhook.tls.existingSecret is set, but webhook.tls.source is chart: set it to secret",
  },
  "an authority beside cert-manager": {
    chart: "kruntimes",
    values: { webhook: { tls: { source: "cert-manager", caBundle: given.tls.caBundle } } },
    message: "webhook.tls.caBundle is set, but webhook.tls.source is cert-manager",
  },
  "an issuer without cert-manager": {
    chart: "kruntimes",
    values: { webhook: { tls: { issuerRef: { name: "mine" } } } },
    message: "webhook.tls.issuerRef is set, but webhook.tls.source is chart: set it to cert-manager",
  },
  "a Secret for one part only": {
    chart: "kruntimes",
    values: { runExtensionAPI: { tls: { existingSecret: "mine" } } },
    message: "runExtensionAPI.tls is set, but webhook.tls.source is chart: set that to secret",
  },
  "an issuer without a name": {
    chart: "kruntimes",
    values: { webhook: { tls: { source: "cert-manager", issuerRef: { kind: "ClusterIssuer" } } } },
    message: "webhook.tls.issuerRef has no name",
  },
  "Kubernetes 1.31": {
    chart: "kruntimes",
    values: {},
    extra: ["--kube-version", "1.31.9"],
    message: "chart requires kubeVersion: >=1.32.0-0 which is incompatible with Kubernetes v1.31.9",
  },
};

test.each(Object.entries(refusals))(
  "%s is refused with a clear message",
  async (_, { chart, values, message, extra }) => {
    const { code, stderr } = await render(chart, values, extra);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  },
);

test.each(charts)("helm lint finds nothing wrong with %s", async (chart) => {
  expect(await helm(["lint", "--strict", `charts/${chart}`, ...kubeVersion])).toContain("0 chart(s) failed");
});

test.each(charts)("the version of %s is that of the package", async (chart) => {
  const { version, appVersion } = parse(await readFile(`charts/${chart}/Chart.yaml`, "utf8"));
  const manifest = JSON.parse(await readFile("package.json", "utf8"));
  expect([version, appVersion]).toEqual([manifest.version, manifest.version]);
});

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly template?: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly topologySpreadConstraints?: readonly unknown[];
        readonly containers: readonly { readonly resources?: { requests?: object; limits?: object } }[];
      };
    };
  };
}

test("every Deployment has a budget for disruptions, is spread, and says what it needs", async () => {
  const { stdout } = await render("kruntimes", givenBoth);
  const objects = parseAllDocuments(stdout).flatMap((document) => (document.toJS() ?? []) as Rendered);
  const budgets = objects.filter(({ kind }) => kind === "PodDisruptionBudget");
  const deployments = objects.filter(({ kind }) => kind === "Deployment");
  expect(deployments.length).toBeGreaterThanOrEqual(4);
  for (const { metadata, spec } of deployments) {
    const { metadata: pod, spec: content } = spec.template ?? {};
    const own = budgets.filter(({ spec: { selector } }) =>
      Object.entries(selector?.matchLabels ?? { none: "" }).every(([key, value]) => pod?.labels[key] === value),
    );
    expect(own, metadata.name).toHaveLength(1);
    expect(content?.topologySpreadConstraints, metadata.name).not.toEqual([]);
    for (const { resources } of content?.containers ?? []) {
      expect(resources, metadata.name).toMatchObject({
        requests: { cpu: expect.anything(), memory: expect.anything() },
        limits: { memory: expect.anything() },
      });
    }
  }
});

test("cert-manager is demanded before anything is changed where the cluster does not have it", async () => {
  const { stderr } = await attempt("kubectl", ["get", "crd", "certificates.cert-manager.io"]);
  if (!stderr.includes("NotFound")) return; // somebody's cluster has it
  await installPlatform();
  const args = ["upgrade", release, "charts/kruntimes", "-n", platformNamespace, "--dry-run=server"];
  const refused = await attempt("helm", [...args, "--set", "webhook.tls.source=cert-manager"]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/no matches for kind "(Certificate|Issuer)" in version "cert-manager.io\/v1"/);
  expect(refused.stderr).toContain("ensure CRDs are installed first");
});
