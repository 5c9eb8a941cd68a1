/** RBAC of the chart held against what the components do: no right too few, and none to write too many. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** The rights that the chart gives a component in the whole cluster, or an agent in its namespace: `patch runs.kruntimes.io/status`. */
function granted(file: string): string[] {
  const text = readFileSync(`charts/kruntimes/templates/rbac/${file}.yaml`, "utf8");
  const lines = text.split("\n");
  const from = lines.findIndex((line) => /^\s*- apiGroups/.test(line));
  const to = lines.findIndex((line, index) => index > from && /^\{\{-? end/.test(line));
  const rules = lines.slice(from, to < 0 ? undefined : to).join("\n");
  return (parse(rules.replace(/\{\{.*?\}\}/g, "NAME")) as Rule[]).flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${inGroup(resource, group)}`)),
    ),
  );
}

function inGroup(resource: string, group: string): string {
  const [plural, ...subresource] = resource.split("/");
  return [group === "" ? plural : `${plural}.${group}`, ...subresource].join("/");
}

const isReading = (right: string) => /^(get|list|watch) /.test(right);

interface Component {
  readonly kind: string;
  readonly file: string;
  /** Writing rights that no simulation needs, and what they are for. */
  readonly elsewhere: Readonly<Record<string, string>>;
}

const events = { "create events.events.k8s.io": "Events", "patch events.events.k8s.io": "Events" };

const components: Record<string, Component> = {
  scheduler: { kind: "scheduler", file: "scheduler", elsewhere: events },
  controller: {
    kind: "controllers",
    file: "controller",
    elsewhere: {
      ...events,
      ...Object.fromEntries(
        ["serviceaccounts", "networkpolicies.networking.k8s.io", "rolebindings.rbac.authorization.k8s.io"].flatMap(
          (one) => [
            [`create ${one}`, "identity of Pods on a cluster (identity-keeper.ts)"],
            [`patch ${one}`, "the same"],
          ],
        ),
      ),
      "delete rolebindings.rbac.authorization.k8s.io": "a binding to another role is replaced (identity-keeper.ts)",
      "bind clusterroles.rbac.authorization.k8s.io": "to bind agents to their role",
      "update actions.kruntimes.io/status": "nobody in the simulation makes an Action",
      "update runtimes.kruntimes.io/finalizers": "admission: to be named as an owner that blocks",
      "update workflowruns.kruntimes.io/finalizers": "the same",
    },
  },
  agent: {
    kind: "agent",
    file: "agent",
    elsewhere: {
      ...events,
      "act-as-agent persistentworkspaces.kruntimes.io": "a mark for the admission policies",
    },
  },
};

/** What is wrong with the rights of the components that the chart installs, by all that they have asked of the API server. */
export function wrongRights(asked: ReadonlySet<string>): string[] {
  return Object.entries(components).flatMap(([name, { kind, file, elsewhere }]) => {
    const used = [...asked].filter((one) => one.startsWith(`${kind} `)).map((one) => one.slice(kind.length + 1));
    const rights = granted(file);
    const lacks = used.filter((right) => !rights.includes(right));
    const unused = rights.filter((right) => !isReading(right) && !used.includes(right) && !(right in elsewhere));
    const gone = Object.keys(elsewhere).filter((right) => !rights.includes(right));
    return [
      ...lacks.map((right) => `the ${name} may not ${right}, and does`),
      ...unused.map((right) => `the ${name} may ${right}, and never does`),
      ...gone.map((right) => `the ${name} may not ${right}, and needs it`),
    ];
  });
}
