import type { KubeObject } from "#api/meta.ts";
import { runs, runtimes, workflowRuns, workflows } from "#api/resources.ts";
import type { ResourceType } from "#kube/resource.ts";

/** Kinds that commands are about, with their short names. */
const called: readonly (readonly [resource: ResourceType<KubeObject>, short: string])[] = [
  [runs, "rn"],
  [runtimes, "rt"],
  [workflows, "wf"],
  [workflowRuns, "wfr"],
];

/** The kind that a word means to kubectl: `runs`, `wfr`, `run.kruntimes.io`. */
export function kindCalled(word: string): string | undefined {
  const lower = word.toLowerCase();
  const found = called.find(([{ kind, plural, group }, short]) => {
    const singular = kind.toLowerCase();
    return [singular, plural, short, `${singular}.${group}`, `${plural}.${group}`].includes(lower);
  });
  return found?.[0].kind;
}

/** The name in `run/NAME` or, as `-o name` writes it, `run.kruntimes.io/NAME`; what names another kind stays as it is. */
export function bareName({ kind }: Pick<ResourceType<KubeObject>, "kind">, text: string): string {
  const [word = "", name = "", ...more] = text.split("/");
  return name !== "" && more.length === 0 && kindCalled(word) === kind ? name : text;
}
