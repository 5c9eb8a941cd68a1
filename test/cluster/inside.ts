/** What tests do inside of the containers of a Runtime Pod. */
import { expect } from "vitest";
import { attempt, kubectl, type Outcome } from "./support.ts";

export interface PodRef {
  readonly namespace: string;
  readonly name: string;
}

/** A shell script in the container of the programs, which has the workspaces below `/workspace`; answers its output. */
export const inPod = ({ namespace, name }: PodRef, script: string): Promise<string> =>
  kubectl(["exec", "-n", namespace, name, "-c", "runtime", "--", "bash", "-ceu", script]);

/** A Node program in the container of the agent, which has no shell: `fs` is there, and the number of its process as `agent`. */
export const besideAgent = ({ namespace, name }: PodRef, program: string): Promise<Outcome> => {
  const agent = 'const fs = require("fs"), agent = +fs.readFileSync("/proc/1/task/1/children", "utf8").split(" ")[0];';
  const node = ["/usr/lib/kruntimes/node", "-e", `${agent} ${program}`];
  return attempt("kubectl", ["exec", "-n", namespace, name, "-c", "runtimed", "--", ...node]);
};

/** Ends the program of a container as a crash would; tini, its parent, cannot be killed from inside. */
export async function crash(pod: PodRef, container: "runtime" | "runtimed"): Promise<void> {
  const runtime = ["sh", "-c", "kill -9 $(cat /proc/1/task/1/children)"];
  const { code, stderr } =
    container === "runtimed"
      ? await besideAgent(pod, 'process.kill(agent, "SIGKILL")')
      : await attempt("kubectl", ["exec", "-n", pod.namespace, pod.name, "-c", container, "--", ...runtime]);
  // The container ends with its program, and takes the killer with it.
  expect([0, 137], stderr).toContain(code);
}

/** Stops the agent in the middle of whatever it does, and lets it go on: a node that is overloaded, or cut off. */
export async function signalAgent(pod: PodRef, signal: "SIGSTOP" | "SIGCONT"): Promise<void> {
  const { code, stderr } = await besideAgent(pod, `process.kill(agent, "${signal}")`);
  expect(code, stderr).toBe(0);
}

/**
 * Waits inside of the Pod until the agent has begun to remove what is in a directory, and kills it there and then.
 * @returns how many of the entries were left at that moment
 */
export async function crashWhileRemoving(pod: PodRef, directory: string): Promise<number> {
  const program = `
    const count = () => { try { return fs.readdirSync("${directory}").length; } catch { return 0; } };
    const all = count(), until = Date.now() + 60000;
    let left = all;
    while (left === all && Date.now() < until) left = count();
    fs.writeSync(1, "left " + left);
    process.kill(agent, "SIGKILL");
  `;
  const { stdout, stderr } = await besideAgent(pod, program);
  const left = /^left (\d+)/.exec(stdout)?.[1];
  if (left === undefined) throw new Error(`the agent was not killed: ${stdout}${stderr}`);
  return Number(left);
}
