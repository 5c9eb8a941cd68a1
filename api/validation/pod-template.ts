/** The parts of a Pod template that our rules read. The rest belongs to Kubernetes, which checks it when it makes Pods. */
export interface TemplateContainer {
  readonly name: string;
  readonly image?: unknown;
  readonly command?: unknown;
  readonly args?: unknown;
  readonly env?: unknown;
  readonly lifecycle?: unknown;
  readonly securityContext?: unknown;
  readonly volumeMounts?: unknown;
}

export interface PodTemplate {
  readonly metadata?: { readonly labels?: unknown; readonly annotations?: unknown };
  readonly spec: {
    readonly containers: readonly TemplateContainer[];
    readonly initContainers?: unknown;
    readonly [field: string]: unknown;
  };
}

/** The object, or an empty one when the value is something else. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** The list, or an empty one when the value is something else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** All containers with the paths of their fields. */
export function containersOf(template: PodTemplate): { path: string; container: Readonly<Record<string, unknown>> }[] {
  return (["initContainers", "containers"] as const).flatMap((list) =>
    listOf(template.spec[list]).map((container, index) => ({
      path: `spec.template.spec.${list}[${index}]`,
      container: objectOf(container),
    })),
  );
}
