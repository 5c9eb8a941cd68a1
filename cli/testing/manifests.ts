import { type Manifest, toManifest } from "../manifests/manifest.ts";
import { parseManifests } from "../manifests/parse.ts";
import { formatProblems, ManifestError } from "../manifests/problem.ts";

/** The manifests of a text that has no mistakes in it. */
export function manifestsOf(text: string, file = "f.yaml"): Manifest[] {
  const { documents, problems } = parseManifests(file, text);
  if (problems.length > 0) throw new ManifestError(problems);
  return documents.map((document) => {
    const manifest = toManifest(document, undefined);
    if ("message" in manifest) throw new ManifestError([manifest]);
    return manifest;
  });
}

/** The lines about what is wrong, or the error itself when it is another one. */
export function problemLines(error: unknown): readonly string[] | unknown {
  return error instanceof ManifestError ? formatProblems(error.problems) : error;
}

/** The problems that some work ends with; none when it succeeds. */
export async function problemsOf(work: () => unknown): Promise<readonly string[] | unknown> {
  try {
    await work();
    return [];
  } catch (error) {
    return problemLines(error);
  }
}

const header = "apiVersion: kruntimes.io/v1alpha1";

export const runtime = `${header}
kind: Runtime
metadata: {name: bash}
spec:
  template: {spec: {containers: [{name: runtime, image: debian}]}}
`;

export const workflow = `${header}
kind: Workflow
metadata: {name: ci}
spec:
  jobs:
    build:
      runs-on: bash
      steps:
        - {name: make, run: make}
`;

export const run = `${header}
kind: Run
metadata: {name: hello}
spec: {runtime: bash, source: {inline: "true"}}
`;

export const workspace = `${header}
kind: PersistentWorkspace
metadata: {name: files}
spec: {runtime: bash, mode: RuntimePodLocal}
`;

export const workflowRun = `${header}
kind: WorkflowRun
metadata: {name: ci-1}
spec: {workflowRef: {name: ci}}
`;

/** One text of several documents. */
export const joined = (...documents: readonly string[]): string => documents.join("---\n");
