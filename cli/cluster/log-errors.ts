import { StatusError } from "#kube/transport.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { Session } from "./session.ts";

const apiService = "v1alpha1.logs.kruntimes.io";

/** How the service words that a node does not hand out a log. */
const unreadable = /^the log of Pod (\S+) cannot be read now: (.*)$/s;

/** How an API server words that nobody serves a path. */
const unserved = /could not find the requested resource|page not found/;

/** How the service words that a Pod is gone. */
const gone = /^Pod (\S+) does not exist any more/;

/**
 * The log of a Run was on a Pod that is not there any more.
 *
 * What to do: nothing brings it back.
 */
export class LogGoneError extends CliError {
  /** In words. */
  readonly pod: string;

  constructor(run: string, pod: string, namespace: string, cause: Error) {
    super(`the log of Run ${run} is gone with ${pod.replace(/^Pod/, "its Pod")}: nothing brings it back`, {
      cause,
      exitCode: exitCodes.refused,
      advice: `\`krt describe ${run} -n ${namespace}\` tells how the Run ended. What has to outlive a Pod belongs into an artifact.`,
    });
    this.pod = pod;
  }
}

/**
 * What a failure of the log API means for who wants to read, and what to look at next; anything that is not special about logs stays
 * what it is.
 */
export function logError(error: unknown, run: string, { namespace }: Pick<Session, "namespace">): unknown {
  if (!(error instanceof StatusError)) return error;
  const refuse = (message: string, exitCode: ExitCode, advice: string) =>
    new CliError(message, { cause: error, exitCode, advice });
  const { code, message } = error;
  const [, pod, why] = unreadable.exec(message) ?? [];
  if (pod !== undefined) {
    return refuse(
      `the log of Run ${run} cannot be read now: the node of Pod ${pod} does not hand it out: ${why}`,
      exitCodes.platform,
      `\`kubectl get pod ${pod} -n ${namespace} -o wide\` and \`kubectl get nodes\` tell whether they are there; the log is there again when they are.`,
    );
  }
  if (code === 409) {
    const podName = gone.exec(message)?.[1];
    return new LogGoneError(run, podName === undefined ? "its Pod" : `Pod ${podName}`, namespace, error);
  }
  if (code === 410) {
    return refuse(
      `the node has removed what comes next in the log of Run ${run}`,
      exitCodes.refused,
      `\`krt logs ${run} -n ${namespace}\` shows what is left, and how many records are missing.`,
    );
  }
  if (code === 429) {
    return refuse(
      `the log service has as many readers as it takes: ${message}`,
      exitCodes.platform,
      "Try again in a moment; more replicas (runExtensionAPI.replicas of the chart) take more readers.",
    );
  }
  if (code === 503) {
    return refuse(
      `the log service of the cluster does not answer: ${message}`,
      exitCodes.platform,
      `\`kubectl get apiservice ${apiService}\` tells why; its Pods are those of \`kubectl get pods -A -l app.kubernetes.io/component=run-extension-api\`.`,
    );
  }
  if (code === 404 && message === `Run ${run} was deleted`) {
    return refuse(message, exitCodes.refused, "What is deleted has no log.");
  }
  if (code === 404 && unserved.test(message)) {
    return refuse(
      "the cluster has no log API",
      exitCodes.refused,
      `Is kruntimes installed there, with runExtensionAPI.enabled=true? \`kubectl get apiservice ${apiService}\` tells; --context chooses another cluster.`,
    );
  }
  return error;
}
