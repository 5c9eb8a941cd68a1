/** What kubectl is asked to do for the recordings, in this order on one server. */
export interface Command {
  readonly args: readonly string[];
  readonly input?: string;
}

const command = (args: string, input?: string): Command => ({
  args: args.split(" "),
  ...(input === undefined ? {} : { input }),
});

const runtime = (replicas: number) =>
  `{apiVersion: kruntimes.io/v1alpha1, kind: Runtime, metadata: {name: bash}, spec: {replicas: ${replicas}, template: {spec: {containers: [{name: runtime, image: debian}]}}}}`;
const run = (change = "") =>
  `{apiVersion: kruntimes.io/v1alpha1, kind: Run, metadata: {name: hello}, spec: {runtime: bash, source: {inline: echo hello}${change}}}`;
const pod = (image: string) =>
  `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: "${image}"}, {name: b, image: b}]}}`;

export const commands: readonly Command[] = [
  command("apply -f -", runtime(1)),
  command("apply -f -", runtime(1)),
  command("apply -f -", runtime(2)),
  command("create -f -", run()),
  command("create -f -", run()),
  command("create -f -", run(", timeut: 5m")),
  command("create -f - --validate=warn --dry-run=server", run(", timeut: 5m")),
  command("get runs"),
  command("get runs -o wide"),
  command("get run hello -o yaml"),
  command("get runs -l a=b"),
  command("get runs --field-selector spec.runtime=bash"),
  command("get run nobody"),
  command("get kruntimes"),
  command("describe run hello"),
  command("label run hello a=b"),
  command("annotate run hello c=d"),
  command('patch run hello --subresource=status --type=merge -p {"status":{"phase":"Scheduled"}}'),
  command('patch runtime bash --type=json -p [{"op":"replace","path":"/spec/replicas","value":3}]'),
  command("patch runtime bash -p {}"),
  command("wait run/hello --for=jsonpath={.status.phase}=Scheduled --timeout=5s"),
  command("wait run/hello --for=condition=Finished --timeout=1s"),
  command("scale runtime bash --replicas=1"),
  command("auth can-i create runs"),
  command("apply --server-side -f -", runtime(2)),
  command("apply --dry-run=server -f -", runtime(2)),
  command("delete run hello --dry-run=server"),
  command("delete run hello"),
  command("delete run hello"),
  command("create namespace team"),
  command("create configmap settings --from-literal=a=b"),
  command("create secret generic keys --from-literal=a=b"),
  command("get configmaps,secrets"),
  command("apply -f -", pod("a:1")),
  command("apply -f -", pod("a:2")),
  command("get pods -o wide"),
  command("delete pod p --grace-period=0 --force"),
  command("get events"),
  command("delete configmaps --all"),
  command("delete runtime bash --cascade=foreground"),
];
