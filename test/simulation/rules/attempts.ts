import type { Run, RunStatus } from "#api/kinds/run.ts";
import { runs } from "#api/resources.ts";
import { isTerminal, retryOf } from "#api/runs.ts";
import { parseTime } from "#api/time.ts";
import { equalJson } from "#kube/json.ts";
import type { Change } from "#local/apiserver/index.ts";
import { type ExecutionExit, type ExecutionId, executionKey } from "#runtime/executor-client.ts";
import type { Script } from "../script.ts";
import { resourceOf, type World } from "../world.ts";
import type { PodFacts, Report, Rule, Start } from "./rule.ts";

/** What only the controller writes: then the Pod is gone, or nobody knows what its agent does. */
const takenAway = new Set(["PodDeleted", "PodEvicted", "NodeLost", "RuntimeDeleted"]);

/** Clocks of the processes differ by no more. */
const skewMs = 3000;

interface Claim {
  readonly podUid: string;
  readonly startTime: number;
}

/**
 * Programs and the words about them: an attempt number starts once, after its claim, on the Pod that claimed it; a Run is
 * told to have ended only when its program has, and in the way in which it has.
 */
export function attemptRules(world: World, report: Report, pods: () => Iterable<PodFacts>): Rule {
  const starts = new Map<string, number>();
  const claims = new Map<string, Claim>();
  const scripts = new Map<string, Script>();
  const exits = new Map<string, ExecutionExit>();

  function isRunning(id: ExecutionId): PodFacts | undefined {
    const key = executionKey(id);
    for (const pod of pods()) if (pod.running.some((other) => executionKey(other) === key)) return pod;
    return undefined;
  }

  function checkStart({ pod, request, script }: Start): void {
    const key = executionKey(request);
    const run = world.runOf(request.runUid);
    const subject = `Run ${run?.metadata.name} attempt ${request.attempt}`;
    const count = (starts.get(key) ?? 0) + 1;
    starts.set(key, count);
    scripts.set(key, script);
    if (count > 1) report("no attempt number starts twice", subject, `started ${count} times`);
    const claim = claims.get(key);
    if (claim === undefined) report("an attempt starts only after its claim", subject, `on Pod ${pod.name}`);
    else if (claim.podUid !== pod.uid)
      report("an attempt starts on the Pod that claimed it", subject, `on Pod ${pod.name}`);
    const other = pod.running.find(({ runUid }) => runUid === request.runUid);
    if (other !== undefined)
      report("attempts of a Run do not overlap on one Pod", subject, `attempt ${other.attempt} still runs`);
  }

  function checkMove(run: Run, old: Run | undefined): void {
    const { status, metadata } = run;
    const subject = `Run ${metadata.name}`;
    const { uid = "" } = metadata;
    const before = old?.status ?? { phase: "Pending" as const };
    if (status === undefined) return;
    if ((status.attempt ?? 0) > (before.attempt ?? 0)) {
      const key = executionKey({ runUid: uid, attempt: status.attempt ?? 0 });
      claims.set(key, { podUid: status.assignedPodUID ?? "", startTime: parseTime(status.startTime) ?? 0 });
      const { maxAttempts } = retryOf(run.spec);
      if ((status.attempt ?? 0) > maxAttempts)
        report("no more attempts than the policy allows", subject, `${status.attempt}`);
    }
    if (before.phase === "Pending" && status.phase === "Scheduled") {
      const due = parseTime(before.nextAttemptTime) ?? 0;
      if (world.clock.now() + skewMs < due)
        report("a back-off is waited for", subject, `until ${before.nextAttemptTime}`);
      if (run.metadata.deletionTimestamp !== undefined) report("what is being deleted is not placed", subject, "");
    }
    if (before.phase === "Running" && status.phase !== "Running") checkEnd(run, subject, uid, before.attempt ?? 0);
  }

  function checkEnd(run: Run, subject: string, runUid: string, attempt: number): void {
    const status = run.status ?? { phase: "Pending" };
    const reason = status.phase === "Pending" ? status.attempts?.at(-1)?.reason : status.reason;
    const id = { runUid, attempt };
    if (!takenAway.has(reason ?? "")) {
      const pod = isRunning(id);
      if (pod !== undefined)
        report("a Run ends after its processes", subject, `${reason}, but attempt ${attempt} runs on ${pod.name}`);
    }
    const exit = exits.get(executionKey(id));
    const told = `${JSON.stringify(exit)}, and the Run says ${status.phase} ${reason} ${status.exitCode}`;
    if (status.phase === "Succeeded") {
      if (exit?.cause !== "exited" || exit.exitCode !== 0)
        report("Succeeded means that the program exited with 0", subject, told);
      const script = scripts.get(executionKey(id));
      const names = (status.artifactRefs ?? []).map(({ name }) => name).sort();
      if (!equalJson(names, [...(script?.artifacts ?? [])].sort())) {
        report("artifacts are those of the program", subject, `${script?.artifacts}, not ${names}`);
      }
    }
    checkOutputs(status, subject, executionKey(id));
    if (reason === "ExitNonZero" && (exit === undefined || exit.exitCode === 0)) {
      report("ExitNonZero means another exit code than 0", subject, told);
    }
    if (status.phase === "Cancelled" && run.spec.termination === undefined) {
      report("only what was asked to end is cancelled", subject, told);
    }
    if (reason === "Timeout" && run.spec.timeout === undefined) report("only a limit can be exceeded", subject, told);
    if (isTerminal(status.phase) && !takenAway.has(reason ?? "") && claims.get(executionKey(id)) === undefined) {
      report("an attempt that ended was claimed", subject, told);
    }
  }

  /** Of a program that ended by itself all outputs, of one that was ended perhaps; an attempt that is repeated leaves none. */
  function checkOutputs({ phase, reason, outputs = {} }: RunStatus, subject: string, key: string): void {
    const written = phase === "Pending" ? {} : (scripts.get(key)?.outputs ?? {});
    const isWhole = phase === "Succeeded" || (phase === "Failed" && reason === "ExitNonZero");
    if (equalJson(outputs, written) || (!isWhole && Object.keys(outputs).length === 0)) return;
    report("outputs are those of the program", subject, `${JSON.stringify(written)}, not ${JSON.stringify(outputs)}`);
  }

  return {
    start: checkStart,
    exit(_, id, exit) {
      if (!exits.has(executionKey(id))) exits.set(executionKey(id), exit);
    },
    change({ type, resource, object, previous }: Change) {
      if (resource !== resourceOf(runs) || type === "DELETED") return;
      checkMove(object as unknown as Run, previous as unknown as Run | undefined);
    },
  };
}
