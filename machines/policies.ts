import { group, version, workspaceFinalizer } from "#api/labels.ts";
import { lifecycles, type Persistence } from "./index.ts";
import { describe } from "./lib/describe.ts";
import { moveCheck, writerTables } from "./lib/move-policy.ts";
import { uniteWriters } from "./lib/union.ts";
import { released } from "./released.ts";

/** How the identities of an installation are known. */
export interface Identities {
  /** Usernames, e.g. `system:serviceaccount:kruntimes:kruntimes-scheduler`. */
  readonly scheduler: string;
  readonly controller: string;
}

export interface Validation {
  readonly expression: string;
  readonly messageExpression: string;
  readonly reason: "Forbidden";
}

/** admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy, as far as it is used here. */
export interface AdmissionPolicy {
  readonly name: string;
  readonly description: string;
  readonly resource: string;
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
  readonly variables: readonly { readonly name: string; readonly expression: string }[];
  readonly validations: readonly Validation[];
  /** What the API server's audit log says of a write, where the text is not empty. */
  readonly auditAnnotations: readonly { readonly key: string; readonly valueExpression: string }[];
}

/** What a status write must be, unless its writer may override. */
interface Rule {
  readonly rule: string;
  readonly messageExpression: string;
}

/** The verb that lifts the policies for whoever has it: for people, when something has gone very wrong. */
export const overrideVerb = "override";

/** Key of the note that the audit log has on a write that nobody may make who may not override. */
const againstTheRules = "against-the-rules";

/**
 * A verb that only agents hold, on {@link markerResource}, by the ClusterRole that they are bound to. It permits nothing:
 * by it the policies know an agent.
 */
export const agentVerb = "act-as-agent";
const markerResource = "persistentworkspaces";

/** What Kubernetes says of the holder of a token that is bound to a Pod. */
const podName = "authentication.kubernetes.io/pod-name";
const podUid = "authentication.kubernetes.io/pod-uid";

/** Which identity may write what: from the statecharts, and for agents only what is of their own Pod. */
export function admissionPolicies(identities: Identities): readonly AdmissionPolicy[] {
  return [
    statusPolicy("Run", "runs", identities, runFences),
    statusPolicy("PersistentWorkspace", "persistentworkspaces", identities, []),
    statusPolicy("WorkflowRun", "workflowruns", identities, []),
    statusPolicy("WorkflowAction", "workflowactions", identities, []),
    workspacePolicy(identities),
  ];
}

function statusPolicy(
  kind: Persistence["kind"],
  plural: string,
  { scheduler, controller }: Identities,
  fences: readonly Rule[],
): AdmissionPolicy {
  const chart = lifecycles.find(({ persistence }) => persistence?.kind === kind && persistence.path === "");
  if (chart === undefined) throw new RangeError(`no statechart is the status of ${kind}`);
  const moves = moveCheck(uniteWriters(writerTables(describe(chart.machine)), released.charts[chart.name]?.writers));
  const move = `'${kind} from ' + oldObject.status.phase + ' to ' + object.status.phase`;
  const rules: readonly Rule[] = [
    {
      rule: moves.expression,
      messageExpression: `request.userInfo.username + ' (as ' + variables.writer + ') may not move this ' + ${move} + '; see docs/statecharts/${chart.name}.md'`,
    },
    ...fences,
  ];
  return {
    name: `${plural}-status`,
    description: `Who may make which move of the ${chart.name} statechart.`,
    resource: `${plural}/status`,
    matchConditions: [],
    variables: [
      {
        name: "writer",
        // Everybody who is not known is held to the rule of agents.
        expression: `request.userInfo.username == ${quoted(scheduler)} ? 'scheduler' : request.userInfo.username == ${quoted(controller)} ? 'controller' : 'agent'`,
      },
      ...moves.variables,
      { name: "override", expression: check(plural, "status", overrideVerb) },
    ],
    validations: rules.map(({ rule, messageExpression }) => ({
      expression: `${rule} || variables.override`,
      messageExpression,
      reason: "Forbidden",
    })),
    // Also on what is refused: who may override cannot be asked here. The code of the answer tells which it was.
    auditAnnotations: [
      {
        key: againstTheRules,
        valueExpression: `${rules.map(({ rule }) => `(${rule})`).join(" && ")} ? '' : ${move}`,
      },
    ],
  };
}

const isAgentOf = (name: string, uid: string) =>
  `has(request.userInfo.extra) && ${quoted(podName)} in request.userInfo.extra && ${quoted(podUid)} in request.userInfo.extra` +
  ` && request.userInfo.extra[${quoted(podName)}] == [${name}] && request.userInfo.extra[${quoted(podUid)}] == [${uid}]`;

const oldStatus = "oldObject.status";
const isAssigned = `has(${oldStatus}.assignedPod) && has(${oldStatus}.assignedPodUID)`;
const kept = (field: string) =>
  `(!has(object.status.${field}) || (has(${oldStatus}.${field}) && object.status.${field} == ${oldStatus}.${field}))`;

/** A stolen or stale token is worth one Pod's Runs, and an agent can hand a Run back but never on to another Pod. */
const runFences: readonly Rule[] = [
  {
    rule: `variables.writer != 'agent' || (${isAssigned} && ${isAgentOf(`${oldStatus}.assignedPod`, `${oldStatus}.assignedPodUID`)})`,
    messageExpression: `'only the agent of the Pod that a Run is assigned to may write its status, with the token of that very Pod; this one is assigned to ' + (has(${oldStatus}.assignedPod) ? 'Pod ' + ${oldStatus}.assignedPod : 'no Pod')`,
  },
  {
    rule: `variables.writer != 'agent' || (${["assignedPod", "assignedPodUID", "assignmentEpoch"].map(kept).join(" && ")})`,
    messageExpression: "'an agent may give an assignment back, but not change it'",
  },
];

/**
 * RBAC cannot filter by field, so agents may patch workspaces; this leaves them one thing to do: to take the finalizer
 * away from a workspace of their own Pod that is being deleted.
 */
function workspacePolicy({ controller }: Identities): AdmissionPolicy {
  const both = (path: string) => [`object.${path}`, `oldObject.${path}`] as const;
  const same = (path: string) => {
    const [now, before] = both(path);
    return `has(${now}) == has(${before}) && (!has(${now}) || ${now} == ${before})`;
  };
  const [left, right] = both("metadata.finalizers").map((list) => `(has(${list}) ? ${list} : [])`);
  return {
    name: "persistentworkspaces-agents",
    description: "Agents change nothing of a workspace but take its cleanup finalizer away, on their own Pod only.",
    resource: "persistentworkspaces",
    matchConditions: [
      {
        name: "not-the-controller",
        expression: `request.userInfo.username != ${quoted(controller)}`,
      },
      {
        name: "an-agent",
        expression: `has(request.userInfo.extra) && ${quoted(podUid)} in request.userInfo.extra && ${check(markerResource, undefined, agentVerb)}`,
      },
      // Who may do everything is no agent, although it has the marker too.
      { name: "no-override", expression: `!${check("persistentworkspaces", undefined, overrideVerb)}` },
    ],
    variables: [],
    validations: [
      {
        expression: `has(oldObject.metadata.deletionTimestamp) && has(${oldStatus}.boundPod) && has(${oldStatus}.boundPodUID) && ${isAgentOf(`${oldStatus}.boundPod`, `${oldStatus}.boundPodUID`)}`,
        messageExpression: `'only the agent of the Pod that a workspace is bound to may change it, and only when it is being deleted; this one is bound to ' + (has(${oldStatus}.boundPod) ? 'Pod ' + ${oldStatus}.boundPod : 'no Pod')`,
        reason: "Forbidden",
      },
      {
        expression: [
          ...["spec", "metadata.labels", "metadata.annotations", "metadata.ownerReferences"].map(same),
          `${left} == ${right}.filter(f, f != ${quoted(workspaceFinalizer)})`,
        ].join(" && "),
        messageExpression: quoted(`an agent may only remove the finalizer ${workspaceFinalizer}`),
        reason: "Forbidden",
      },
    ],
    auditAnnotations: [],
  };
}

const check = (plural: string, subresource: string | undefined, verb: string) =>
  `authorizer.group(${quoted(group)}).resource(${quoted(plural)})` +
  `${subresource === undefined ? "" : `.subresource(${quoted(subresource)})`}` +
  `.namespace(request.namespace).name(request.name).check(${quoted(verb)}).allowed()`;

/** The objects to create: each policy, and the binding that puts it into force in all namespaces. */
export function policyObjects(identities: Identities, prefix: string): readonly object[] {
  return admissionPolicies(identities).flatMap(
    ({ name, description, resource, matchConditions, variables, validations, auditAnnotations }) => {
      const metadata = { name: `${prefix}-${name}`, annotations: { "kruntimes.io/description": description } };
      const apiVersion = "admissionregistration.k8s.io/v1";
      return [
        {
          apiVersion,
          kind: "ValidatingAdmissionPolicy",
          metadata,
          spec: {
            failurePolicy: "Fail",
            matchConstraints: {
              resourceRules: [
                { apiGroups: [group], apiVersions: [version], operations: ["UPDATE"], resources: [resource] },
              ],
            },
            ...(matchConditions.length === 0 ? {} : { matchConditions }),
            ...(variables.length === 0 ? {} : { variables }),
            validations,
            ...(auditAnnotations.length === 0 ? {} : { auditAnnotations }),
          },
        },
        {
          apiVersion,
          kind: "ValidatingAdmissionPolicyBinding",
          metadata: { name: metadata.name },
          spec: { policyName: metadata.name, validationActions: ["Deny"] },
        },
      ];
    },
  );
}

/** No text here has a quote or a backslash in it. */
function quoted(text: string): string {
  if (/['\\]/.test(text)) throw new RangeError(`${text} would need escaping`);
  return `'${text}'`;
}
