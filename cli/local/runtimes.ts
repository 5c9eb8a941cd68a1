import type { Runtime } from "#api/kinds/runtime.ts";
import { runtimes } from "#api/resources.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import type { Clock, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import { isAlreadyExists } from "#kube/transport.ts";
import { watchObject } from "#kube/watch-object.ts";
import { suggestion } from "../closest.ts";
import { CliError } from "../errors.ts";

/** Runtimes that `krt local up --runtimes` makes; images are for a move to a real cluster, here nothing is pulled. */
const images = {
  bash: "docker.io/library/debian:bookworm-slim",
  python: "docker.io/library/python:3.13-slim",
} as const;

type Name = keyof typeof images;

const names = Object.keys(images) as Name[];

/** Namespace of these Runtimes. */
const namespace = "default";

/** The claim that holds their artifacts. */
const claim = "artifacts";

/**
 * Reads `bash,python`.
 * @throws CliError for a name that is none of them
 */
export function parseRuntimes(text: string): Name[] {
  return text.split(",").map((word) => {
    const found = names.find((name) => name === word.trim());
    if (found !== undefined) return found;
    throw new CliError(`krt brings no Runtime ${word}`, {
      advice: suggestion(word, names) ?? `Write one or more of ${names.join(",")}; others are applied from files.`,
    });
  });
}

/** Makes the Runtimes that are not there yet, and resolves when every one of them has a ready Pod, or the signal is aborted. */
export async function provideRuntimes(
  wanted: readonly Name[],
  deps: { readonly client: Client; readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
): Promise<void> {
  if (wanted.length === 0) return;
  const { client } = deps;
  const spec = { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "1Gi" } } };
  await unlessThere(() => client.of(persistentVolumeClaims).create({ metadata: { name: claim, namespace }, spec }));
  for (const name of wanted) await unlessThere(() => client.of(runtimes).create(runtimeOf(name)));
  const isReady = ({ spec, status }: Runtime) => spec.replicas === 0 || (status?.readyReplicas ?? 0) > 0;
  await Promise.all(wanted.map((name) => watchObject(runtimes, { name, namespace }, { until: isReady, signal }, deps)));
}

async function unlessThere(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

function runtimeOf(name: Name): Runtime {
  return {
    metadata: { name, namespace },
    spec: {
      replicas: 1,
      capacity: { resources: { runs: 4 } },
      server: { type: "Injected", interpreter: name },
      template: { spec: { containers: [{ name: "runtime", image: images[name] }] } },
      artifactStore: { driver: "Filesystem", filesystem: { volumeClaimName: claim } },
    },
  };
}
