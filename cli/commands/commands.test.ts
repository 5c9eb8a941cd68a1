import type { Command } from "commander";
import { expect, test } from "vitest";
import { runCommand } from "../main.ts";
import { createProgram } from "../program.ts";
import { fakeEnvironment, fakeFiles } from "../testing/fake-environment.ts";

async function krt(argv: readonly string[], invokedAs = "krt") {
  const { env, out, err } = fakeEnvironment(fakeFiles({ "empty.sh": "\n" }));
  const code = await runCommand([...argv], { ...env, invokedAs });
  return { code, out: out.text, err: err.text };
}

/** Every command that does something, by its words. */
function leaves(command: Command, words: readonly string[] = []): (readonly string[])[] {
  const below = command.commands.filter((one) => !one.name().startsWith("_"));
  return below.length === 0 ? [words] : below.flatMap((one) => leaves(one, [...words, one.name()]));
}

const all = leaves(createProgram(fakeEnvironment().env, () => {})).map((words) => [words.join(" "), words] as const);

test.each(all)("help of %s has examples that begin with the name it was called by", async (line, words) => {
  const { code, out } = await krt([...words, "--help"], "kubectl krt");
  expect(code).toBe(0);
  expect(out).toMatch(new RegExp(`^Usage: kubectl krt ${line.replaceAll(" ", "\\S* ")}`));
  expect(out.split("Examples:")[1]).toMatch(/^ {4}kubectl krt /m);
});

test("logs takes its API server, and whom it trusts, from the kubeconfig alone: there are no flags for another address", async () => {
  const { out } = await krt(["logs", "--help"]);
  const flags = [...(out.split("Examples:")[0] ?? "").matchAll(/--[a-z-]+/g)].map(([flag]) => flag);
  expect([...new Set(flags)].sort()).toEqual([
    "--attempt",
    "--context",
    "--follow",
    "--help",
    "--kubeconfig",
    "--namespace",
    "--since",
    "--since-time",
    "--tail",
    "--timestamps",
  ]);
});

const mistakes: Record<string, { argv: string[]; want: string }> = {
  "nothing to run": {
    argv: ["run"],
    want: "krt: there is nothing to run\n     Write a command behind --, or a script with --file.\n",
  },
  "an empty script": {
    argv: ["run", "--file", "empty.sh"],
    want: "krt: empty.sh is empty\n     Write a script into it.\n",
  },
  "a script that is not there": {
    argv: ["run", "--file", "no.sh"],
    want: "krt: there is no file no.sh\n     Check the path; `-` reads standard input.\n",
  },
  "a variable without a value": {
    argv: ["run", "--env", "A", "--", "x"],
    want: "krt: option '--env <name=value>' argument 'A' is invalid. Write KEY=VALUE.\n     See krt run --help.\n",
  },
  "retries that are no number": {
    argv: ["run", "--retries", "-1", "--", "x"],
    want: "krt: option '--retries <number>' argument '-1' is invalid. Write a whole number from 0 on.\n     See krt run --help.\n",
  },
  "more of the newest lines than the log service has": {
    argv: ["logs", "x", "--tail", "501"],
    want: "krt: option '--tail <lines>' argument '501' is invalid. Write a whole number from 1 to 500.\n     See krt logs --help.\n",
  },
  "a phase that is misspelt": {
    argv: ["list", "--phase", "Runing"],
    want: "krt: there is no phase Runing\n     Did you mean Running?\n",
  },
  "a format that is misspelt": {
    argv: ["get", "x", "-o", "yml"],
    want: "krt: there is no output format yml\n     Did you mean yaml?\n",
  },
  "a reason that is misspelt": {
    argv: ["explain", "NoReadyPod"],
    want: "krt: there is no reason NoReadyPod\n     Did you mean NoReadyPods?\n",
  },
  "a shell that has no completion": {
    argv: ["completion", "fihs"],
    want: "krt: there is no completion for fihs\n     Did you mean fish?\n",
  },
  "a Runtime that krt does not bring": {
    argv: ["local", "up", "--runtimes", "bahs"],
    want: "krt: krt brings no Runtime bahs\n     Did you mean bash?\n",
  },
  "a variable that has two values": {
    argv: ["run", "--env", "A=1", "--env", "A=2", "--", "x"],
    want: "krt: option '--env <name=value>' argument 'A=2' is invalid. A has a value already; give it once.\n     See krt run --help.\n",
  },
  "a command of workflows that stands elsewhere": {
    argv: ["workflow", "logs", "ci-x7k2p"],
    want: "krt: there is no command workflow logs\n     Write krt logs workflowrun/NAME.\n",
  },
  "a command of workflows that is misspelt": {
    argv: ["workflow", "resum", "ci-x7k2p"],
    want: "krt: there is no command workflow resum\n     Did you mean resume?\n",
  },
  "a command of workflows that is like no other": {
    argv: ["workflow", "frobnicate"],
    want: "krt: there is no command workflow frobnicate\n     See krt workflow --help.\n",
  },
  "a command that is misspelt": {
    argv: ["descrbe"],
    want: "krt: there is no command descrbe\n     Did you mean describe?\n",
  },
  "a list that is to be watched": {
    argv: ["list", "-w"],
    want: "krt: krt list shows what is there now\n     Write kubectl get runs --watch, or krt logs -f NAME for one of them.\n",
  },
  "a command of kubectl": {
    argv: ["apply", "-f", "x.yaml"],
    want: "krt: there is no command apply\n     Write kubectl apply -f FILE; krt workflow run -f FILE runs what a file holds.\n",
  },
  "a command that stands below workflow": {
    argv: ["resume", "ci-x7k2p"],
    want: "krt: there is no command resume\n     Write krt workflow resume NAME; a Run has krt cancel NAME.\n",
  },
};

test.each(Object.entries(mistakes))("%s", async (_, { argv, want }) => {
  expect(await krt(argv)).toEqual({ code: 2, out: "", err: want });
});

test("a reason is explained in any letters, and all are listed", async () => {
  expect(await krt(["explain", "noreadypods"])).toEqual({
    code: 0,
    out: "NoReadyPods (A Run that waits)\n  The Runtime has no ready Pod.\n  Look at the Pods and conditions of the Runtime.\n",
    err: "",
  });
  expect((await krt(["explain"])).out).toMatch(/^A Run that waits:\n {2}RuntimeNotFound\n/);
});

test.each(["bash", "zsh", "fish"])("a completion script for %s asks krt", async (shell) => {
  const { code, out } = await krt(["completion", shell]);
  expect(code).toBe(0);
  expect(out).toContain("krt __complete -- ");
});

test("the version of the program needs no cluster", async () => {
  expect(await krt(["version", "--client"])).toEqual({ code: 0, out: "krt 1.2.3\n", err: "" });
});
