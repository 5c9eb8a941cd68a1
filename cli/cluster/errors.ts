import type { KubeObject } from "#api/meta.ts";
import * as own from "#api/resources.ts";
import { namespaces } from "#kube/builtin.ts";
import type { ResourceType } from "#kube/resource.ts";
import { isNotFound, StatusError, TransportError } from "#kube/transport.ts";
import { closest } from "../closest.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { kindCalled } from "./object-name.ts";
import type { Session } from "./session.ts";

/** What the error is for, and where. */
export type Place = Pick<Session, "client" | "server" | "namespace">;

/**
 * An answer of the cluster as one line and the next step. Anything that is none stays what it is.
 */
export async function clusterError(error: unknown, place: Place): Promise<unknown> {
  if (error instanceof TransportError) return unreachable(error, place.server);
  if (!(error instanceof StatusError)) return error;
  if (error.code === 401) return expired(error, place.server);
  if (error.code === 403) return forbidden(error);
  if (error.code === 404) return notFound(error, place);
  if (error.code === 409 && error.reason === "AlreadyExists") return taken(error, place);
  if (error.code === 422 || error.code === 400) return invalid(error);
  const exitCode = error.code >= 500 || error.code === 429 ? exitCodes.platform : exitCodes.refused;
  const advice = error.code === 429 ? "The cluster is busy: try again later." : undefined;
  return refusal(`the cluster answered ${error.code}: ${error.message}`, error, exitCode, advice);
}

function refusal(message: string, cause: Error, exitCode: number, advice: string | undefined): CliError {
  return new CliError(message, { cause, exitCode, ...(advice === undefined ? {} : { advice }) });
}

/** The innermost cause says what happened; the outer ones repeat the request. */
function unreachable(error: TransportError, server: string): CliError {
  let cause: unknown = error;
  while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause;
  const code = (cause as { code?: string }).code;
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause;
  const why =
    code === "ECONNREFUSED" ? "nothing listens there" : inner instanceof Error ? inner.message : String(inner);
  return refusal(
    `the cluster at ${server} cannot be reached: ${why}`,
    error,
    exitCodes.platform,
    "Is it running? `krt local up` starts one on this machine, --context chooses another one.",
  );
}

function expired(error: StatusError, server: string): CliError {
  return refusal(
    `the cluster at ${server} does not accept your login (401 Unauthorized)`,
    error,
    exitCodes.refused,
    "The token or certificate of the kubeconfig has expired or is another cluster's: log in again.",
  );
}

/** How the API server words it. */
const cannot = /cannot (\S+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/;

/** How our webhook words that somebody lacks the right to run in a workspace. */
const mayNotUse = /may not use PersistentWorkspace (\S+) in namespace ([^\s;]+);/;

function forbidden(error: StatusError): CliError {
  const [, workspace, home] = mayNotUse.exec(error.message) ?? [];
  if (workspace !== undefined) {
    const asks = `kubectl auth can-i use persistentworkspaces.kruntimes.io/${workspace} --subresource=use -n ${home}`;
    return refusal(
      `you may not run in workspace ${workspace} of namespace ${home} (403 Forbidden)`,
      error,
      exitCodes.refused,
      `Ask its administrator for the right to use it; \`${asks}\` tells when you have it.`,
    );
  }
  const [, verb, resource, group, namespace] = cannot.exec(error.message) ?? [];
  if (verb === undefined || resource === undefined) {
    return refusal(`you may not do that: ${error.message}`, error, exitCodes.refused, undefined);
  }
  const where = namespace === undefined ? "in the whole cluster" : `in namespace ${namespace}`;
  const [plural = "", subresource] = resource.split("/");
  const name = / "([^"]+)" is forbidden/.exec(error.message)?.[1];
  const target = `${group ? `${plural}.${group}` : plural}${name === undefined ? "" : `/${name}`}${subresource === undefined ? "" : ` --subresource=${subresource}`}`;
  return refusal(
    `you may not ${verb} ${resource} ${where} (403 Forbidden)`,
    error,
    exitCodes.refused,
    `Ask its administrator for a role; \`kubectl auth can-i ${verb} ${target}${namespace === undefined ? " -A" : ` -n ${namespace}`}\` tells when you have it.`,
  );
}

async function notFound(error: StatusError, place: Place): Promise<CliError> {
  const { name, kind: plural, group } = error.status.details ?? {};
  if (name === undefined || name === "" || plural === undefined) {
    return refusal(
      `the cluster at ${place.server} does not know the kinds of kruntimes`,
      error,
      exitCodes.refused,
      "Is kruntimes installed there? --context chooses another cluster.",
    );
  }
  if (plural === namespaces.plural && !group) return missingNamespace(name, place, error);
  const resource = Object.values(own).find((one) => typeof one === "object" && one.plural === plural);
  const missing = await namespaceProblem(place);
  if (missing !== undefined) return missing;
  const what = resource?.kind ?? plural;
  return refusal(
    `there is no ${what} ${name} in namespace ${place.namespace}`,
    error,
    exitCodes.refused,
    resource === undefined ? undefined : await nameAdvice(resource, name, place),
  );
}

function taken(error: StatusError, { namespace }: Place): CliError {
  const { name = "", kind: plural = "" } = error.status.details ?? {};
  const what = Object.values(own).find((one) => typeof one === "object" && one.plural === plural)?.kind ?? plural;
  const advice = "Choose another name, or leave it out: then the server makes one up.";
  return refusal(`there is a ${what} ${name} in namespace ${namespace} already`, error, exitCodes.refused, advice);
}

/** The commands that list what others show by name. */
const lists: Readonly<Record<string, string>> = {
  Run: "list",
  Runtime: "runtime list",
  Workflow: "workflow list --templates",
  WorkflowRun: "workflow list",
};

/** The names that are there, or the one that was meant. */
export async function nameAdvice(
  resource: ResourceType<KubeObject>,
  name: string,
  { client, namespace }: Place,
): Promise<string> {
  const { kind, plural } = resource;
  // As in `kubectl get runs`.
  const asked = kindCalled(name);
  if (asked !== undefined) return `\`krt ${lists[asked]}\` lists ${asked}s; a name stands without its kind.`;
  try {
    // Who may not read other kinds gets the advice for this one.
    const other = await namesake(resource, name, { client, namespace }).catch(() => undefined);
    if (other !== undefined) return other;
    const { items } = await client.of(resource).list({ namespace, limit: 500 });
    const names = items.map(({ metadata }) => metadata.name);
    const meant = closest(name, names);
    if (meant !== undefined) return `Did you mean ${meant}?`;
    if (names.length === 0) return `The namespace has no ${kind}; -n chooses another one.`;
    const shown = names.slice(0, 5).join(", ");
    return `The namespace has ${shown}${names.length > 5 ? " and others" : ""}; -n chooses another one.`;
  } catch {
    return `See kubectl get ${plural} -n ${namespace}.`;
  }
}

/** What people mean by the name of another kind, and the command for that. */
const namesakes: Readonly<Record<string, readonly (readonly [ResourceType<KubeObject>, (name: string) => string])[]>> =
  {
    Run: [
      [
        own.workflowRuns,
        (name) => `\`krt workflow get ${name}\` shows it, \`krt logs workflowrun/${name}\` what it printed.`,
      ],
    ],
    WorkflowRun: [
      [own.workflows, (name) => `\`krt workflow list --workflow ${name}\` lists its runs.`],
      [own.runs, (name) => `\`krt describe ${name}\` shows it, \`krt logs ${name}\` what it printed.`],
    ],
  };

/** What to do when the name is that of an object of another kind. */
async function namesake(
  { kind }: ResourceType<KubeObject>,
  text: string,
  { client, namespace }: Pick<Place, "client" | "namespace">,
): Promise<string | undefined> {
  const name = text.slice(text.indexOf("/") + 1);
  for (const [resource, advice] of namesakes[kind] ?? []) {
    const { items } = await client.of(resource).list({ namespace, fieldSelector: `metadata.name=${name}` });
    if (items.length > 0) return `There is a ${resource.kind} ${name}: ${advice(name)}`;
  }
  return undefined;
}

/** The error for a namespace that does not exist; undefined when it does, or nobody may know. */
export async function namespaceProblem(place: Place): Promise<CliError | undefined> {
  try {
    await place.client.of(namespaces).get({ name: place.namespace });
    return undefined;
  } catch (error) {
    return isNotFound(error) ? missingNamespace(place.namespace, place, error) : undefined;
  }
}

async function missingNamespace(name: string, { client }: Place, cause: Error): Promise<CliError> {
  let advice = `Create it with kubectl create namespace ${name}, or choose another one with -n.`;
  try {
    const { items } = await client.of(namespaces).list({ limit: 500 });
    const meant = closest(
      name,
      items.map(({ metadata }) => metadata.name),
    );
    if (meant !== undefined) advice = `Did you mean ${meant}?`;
  } catch {
    // Who may not list namespaces gets the general advice.
  }
  return refusal(`there is no namespace ${name}`, cause, exitCodes.refused, advice);
}

function invalid(error: StatusError): CliError {
  const causes = error.status.details?.causes ?? [];
  const details = causes.map(({ field, message }) => [field, message].filter(Boolean).join(": "));
  const message = details.length === 0 ? error.message : "the cluster refuses it:";
  return new CliError(message, { details, exitCode: exitCodes.usage, cause: error });
}
