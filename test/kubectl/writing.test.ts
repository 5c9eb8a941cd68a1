import { afterAll, beforeAll, expect, test } from "vitest";
import { runs, runtimes } from "#api/resources.ts";
import { configMaps, persistentVolumeClaims, pods } from "#kube/builtin.ts";
import { bashRun, bashRuntime, claim } from "#test/integration/support/cluster.ts";
import { KubectlCluster } from "./support/kubectl.ts";

let cluster: KubectlCluster;
const kubectl = (args: string | readonly string[], input?: string) => cluster.kubectl(args, input);
const apply = (manifest: string) => kubectl("apply -f -", manifest);

beforeAll(async () => {
  cluster = await KubectlCluster.start();
  await cluster.cluster.create(persistentVolumeClaims, claim);
  await cluster.cluster.create(runtimes, bashRuntime());
});
afterAll(() => cluster?.stop());

const run = (name: string, change = "") => `
apiVersion: kruntimes.io/v1alpha1
kind: Run
metadata:
  name: ${name}
spec:
  runtime: bash
  source:
    inline: exit 0
  ${change}
`;

const runtime = (replicas: number) => `
apiVersion: kruntimes.io/v1alpha1
kind: Runtime
metadata:
  name: other
spec:
  replicas: ${replicas}
  template:
    spec:
      containers:
        - name: runtime
          image: debian
`;

test("apply creates, then says unchanged, then configured", async () => {
  expect(await apply(runtime(0))).toBe("runtime.kruntimes.io/other created\n");
  expect(await apply(runtime(0))).toBe("runtime.kruntimes.io/other unchanged\n");
  expect(await apply(runtime(1))).toBe("runtime.kruntimes.io/other configured\n");
  expect((await cluster.cluster.get(runtimes, "other")).spec.replicas).toBe(1);
  expect(await apply(runtime(0))).toBe("runtime.kruntimes.io/other configured\n");
});

test("apply removes what the manifest no longer has", async () => {
  const manifest = (data: string) => `{apiVersion: v1, kind: ConfigMap, metadata: {name: pruned}, data: {${data}}}`;
  await apply(manifest("a: one, b: two"));
  await apply(manifest("b: three"));
  const map = await cluster.json<{ data: object }>("get configmap pruned");
  expect(map.data).toEqual({ b: "three" });
});

const builtins: Record<string, { first: string; second: string }> = {
  Namespace: {
    first: "{apiVersion: v1, kind: Namespace, metadata: {name: team}}",
    second: "{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {a: b}}}",
  },
  Secret: {
    first: "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: eA==}}",
    second: "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: eQ==}}",
  },
  PersistentVolumeClaim: {
    first:
      "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}",
    second:
      "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, labels: {a: b}}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}",
  },
  ServiceAccount: {
    first: "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, imagePullSecrets: [{name: x}]}",
    second: "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, imagePullSecrets: [{name: y}]}",
  },
  Service: {
    first: "{apiVersion: v1, kind: Service, metadata: {name: svc}, spec: {selector: {a: b}, ports: [{port: 80}]}}",
    second:
      "{apiVersion: v1, kind: Service, metadata: {name: svc}, spec: {selector: {a: b}, ports: [{port: 80}, {port: 443, name: tls}]}}",
  },
  ReplicaSet: {
    first:
      "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: m, image: i:1}, {name: n, image: j}]}}}}",
    second:
      "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: m, image: i:2}, {name: n, image: j}]}}}}",
  },
  RoleBinding: {
    first:
      "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: rb}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: User, name: me, apiGroup: rbac.authorization.k8s.io}]}",
    second:
      "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: rb}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: []}",
  },
  NetworkPolicy: {
    first:
      "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: np}, spec: {podSelector: {}, policyTypes: [Ingress]}}",
    second:
      "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: np}, spec: {podSelector: {}, policyTypes: [Ingress, Egress]}}",
  },
};

test.each(Object.entries(builtins))(
  "apply of a %s is created, unchanged, configured",
  async (_kind, { first, second }) => {
    expect(await apply(first)).toMatch(/ created$/m);
    expect(await apply(first)).toMatch(/ unchanged$/m);
    expect(await apply(second)).toMatch(/ configured$/m);
    expect(await apply(second)).toMatch(/ unchanged$/m);
  },
);

test("containers of a Pod are patched one by one", async () => {
  await apply(
    "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: elsewhere, containers: [{name: a, image: a:1}, {name: b, image: b:1}]}}",
  );
  await kubectl(["patch", "pod", "p", "-p", '{"spec":{"containers":[{"name":"b","image":"b:2"}]}}']);
  const pod = await cluster.cluster.get(pods, "p");
  expect(pod.spec.containers.map(({ image }) => image)).toEqual(["a:1", "b:2"]);
  await kubectl("delete pod p --grace-period=0 --force --wait=false").catch(() => {}); // warns that it is immediate
});

test("create makes objects of manifests and refuses to make them twice", async () => {
  expect(await kubectl("create -f -", run("created"))).toBe("run.kruntimes.io/created created\n");
  expect(await cluster.refused("create -f -", run("created"))).toContain('runs.kruntimes.io "created" already exists');
  const generated = run("x").replace("name: x", "generateName: many-");
  expect(await kubectl("create -f - -o name", generated)).toMatch(/^run.kruntimes.io\/many-[a-z0-9]{5}\n$/);
});

test("create has its own words for the small kinds", async () => {
  const words: Record<string, string> = {
    "create namespace words": "namespace/words created\n",
    "create configmap words --from-literal=a=b": "configmap/words created\n",
    "create secret generic words --from-literal=a=b": "secret/words created\n",
    "create serviceaccount words": "serviceaccount/words created\n",
    "create service clusterip words --tcp=80:8080": "service/words created\n",
    "create rolebinding words --clusterrole=view --user=me": "rolebinding.rbac.authorization.k8s.io/words created\n",
  };
  for (const [args, said] of Object.entries(words)) expect(await kubectl(args), args).toBe(said);
  expect(await kubectl("get secret words -o jsonpath={.data.a}")).toBe(Buffer.from("b").toString("base64"));
  expect((await cluster.cluster.get(configMaps, "words")).data).toEqual({ a: "b" });
});

test("a typo in a field is refused, and can be ignored", async () => {
  const typo = run("typo", "timeut: 5m");
  expect(await cluster.refused("apply -f -", typo)).toContain('unknown field "spec.timeut"');
  const warned = await cluster.run(["apply", "--validate=warn", "-f", "-"], typo);
  expect(warned).toMatchObject({ code: 0, err: expect.stringContaining('Warning: unknown field "spec.timeut"') });
  expect(await kubectl("apply --validate=ignore -f -", run("typo2", "timeut: 5m"))).toContain("created");
  const pod = "{apiVersion: v1, kind: Pod, metadata: {name: t}, spec: {containrs: []}}";
  expect(await cluster.refused("apply -f -", pod)).toContain('unknown field "spec.containrs"');
});

test("what a Run may not be is refused with the field", async () => {
  expect(await cluster.refused("apply -f -", run("wrong", "timeout: soon"))).toContain("spec.timeout: Invalid value");
  await kubectl("create -f -", run("fixed"));
  const change = ["patch", "run", "fixed", "--type=merge", "-p", '{"spec":{"runtime":"x"}}'];
  expect(await cluster.refused(change)).toContain("spec.runtime: Forbidden: runtime cannot be changed");
});

test("edit changes an object", async () => {
  await apply(runtime(0));
  const edited = await cluster.run(["edit", "runtime", "other"], "", {
    KUBE_EDITOR: "sed -i 's/^  replicas: 0/  replicas: 1/'",
  });
  expect(edited).toMatchObject({ code: 0, out: "runtime.kruntimes.io/other edited\n" });
  const untouched = await cluster.run(["edit", "runtime", "other"], "", { KUBE_EDITOR: "true" });
  expect(untouched.err + untouched.out).toContain("Edit cancelled, no changes made");
  expect((await cluster.cluster.get(runtimes, "other")).spec.replicas).toBe(1);
});

test("patch takes merge and JSON patches of our kinds, and no strategic ones", async () => {
  await apply(runtime(0));
  expect(await kubectl(["patch", "runtime", "other", "--type=merge", "-p", '{"spec":{"replicas":0}}'])).toBe(
    "runtime.kruntimes.io/other patched (no change)\n",
  );
  const operations =
    '[{"op":"test","path":"/spec/replicas","value":0},{"op":"add","path":"/metadata/labels","value":{"x":"y"}}]';
  expect(await kubectl(["patch", "runtime", "other", "--type=json", "-p", operations])).toContain("patched");
  expect(await cluster.refused(["patch", "runtime", "other", "-p", "{}"])).toContain("application/merge-patch+json");
});

test("replace wants the version that it read", async () => {
  await kubectl("delete runtime other --ignore-not-found");
  await kubectl("create -f -", runtime(0));
  const object = await cluster.json<{ metadata: { labels?: object } }>("get runtime other");
  object.metadata.labels = { replaced: "yes" };
  expect(await kubectl("replace -f -", JSON.stringify(object))).toContain("replaced");
  expect(await cluster.refused("replace -f -", JSON.stringify(object))).toContain("the object has been modified");
  await kubectl("delete runtime other");
});

test("label and annotate change metadata alone", async () => {
  await apply(runtime(0));
  const before = await cluster.cluster.get(runtimes, "other");
  expect(await kubectl("label runtime other a=b")).toBe("runtime.kruntimes.io/other labeled\n");
  expect(await kubectl("annotate runtime other c=d")).toBe("runtime.kruntimes.io/other annotated\n");
  expect(await cluster.refused("label runtime other a=c")).toContain("already has a value");
  expect(await kubectl("label runtime other a-")).toBe("runtime.kruntimes.io/other unlabeled\n");
  const after = await cluster.cluster.get(runtimes, "other");
  expect(after.metadata.annotations).toMatchObject({ c: "d" });
  expect(after.metadata.generation).toBe(before.metadata.generation);
});

test("scale changes the replicas of a Runtime through its subresource", async () => {
  await apply(runtime(0));
  expect(await kubectl("scale runtime other --replicas=2")).toBe("runtime.kruntimes.io/other scaled\n");
  await cluster.cluster.ready("other", 2);
  expect(await cluster.refused("scale runtime other --current-replicas=5 --replicas=1")).toContain("Expected replicas");
  expect(await kubectl("scale runtime other --replicas=0")).toContain("scaled");
  await cluster.cluster.ready("other", 0).catch(() => {});
});

test("a server-side dry run of each write changes nothing", async () => {
  await apply(runtime(0));
  const before = await kubectl("get runtimes,runs,configmaps -A -o json");
  const dry = "--dry-run=server";
  expect(await kubectl(`apply ${dry} -f -`, runtime(1))).toContain("configured (server dry run)");
  expect(await kubectl(`create ${dry} -f -`, run("dry"))).toContain("created (server dry run)");
  expect(await kubectl(`label ${dry} runtime other dry=yes`)).toContain("labeled");
  expect(await kubectl(`delete ${dry} runtime other`)).toMatch(/deleted.*\(server dry run\)/);
  expect(await kubectl(`scale ${dry} runtime other --replicas=1`)).toContain("scaled (server dry run)");
  expect(await cluster.refused(`apply ${dry} -f -`, run("dry", "timeout: soon"))).toContain("spec.timeout");
  expect(await kubectl("get runtimes,runs,configmaps -A -o json")).toBe(before);
});

test("diff shows what apply would change", async () => {
  await apply(runtime(0));
  expect(await cluster.run(["diff", "-f", "-"], runtime(0))).toMatchObject({ code: 0, out: "" });
  const changed = await cluster.run(["diff", "-f", "-"], runtime(1));
  expect(changed.code).toBe(1);
  expect(changed.out).toMatch(/^- {2}replicas: 0\n\+ {2}replicas: 1$/m);
});

test("server-side apply says what to do instead", async () => {
  const said = await cluster.refused("apply --server-side -f -", runtime(0));
  expect(said).toContain(
    "server-side apply is not supported by this API server: use kubectl apply without --server-side",
  );
});

test("delete waits until objects are gone, by name, label, file and all at once", async () => {
  const api = cluster.cluster;
  for (const name of ["d1", "d2", "d3", "d4"]) {
    const made = bashRun(name, "true");
    await api.create(runs, { ...made, metadata: { ...made.metadata, labels: { group: name === "d1" ? "a" : "b" } } });
  }
  expect(await kubectl("delete run d1")).toBe('run.kruntimes.io "d1" deleted from default namespace\n');
  expect(await cluster.refused("delete run d1")).toContain('runs.kruntimes.io "d1" not found');
  expect(await kubectl("delete run d1 --ignore-not-found")).toBe("");
  expect((await kubectl("delete runs -l group=b")).split("\n")).toHaveLength(4);
  await apply(run("d5"));
  expect(await kubectl("delete -f -", run("d5"))).toContain('"d5" deleted');
  await kubectl("delete runs --all");
  expect((await cluster.run(["get", "runs"])).err).toContain("No resources found");
});

test("deleting a Runtime takes its Pods along", async () => {
  await apply(runtime(1));
  await cluster.cluster.ready("other", 1);
  expect(await kubectl("delete runtime other --cascade=foreground")).toContain("deleted");
  await expect.poll(() => kubectl("get pods -l kruntimes.io/runtime=other -o name"), { timeout: 20_000 }).toBe("");
});

test("deleting a namespace empties it", async () => {
  await kubectl("create namespace gone");
  await kubectl("create configmap inside -n gone");
  expect(await kubectl("delete namespace gone")).toContain('namespace "gone" deleted');
  expect(await cluster.refused("get configmap inside -n gone")).toContain("not found");
  expect(await cluster.refused("delete namespace default")).toContain("this namespace may not be deleted");
});
