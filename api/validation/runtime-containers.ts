import { reservedPrefix } from "../environment.ts";
import type { FieldError } from "../field-error.ts";
import type { Runtime } from "../kinds/runtime.ts";
import { podContainers, podPorts } from "../pod-layout.ts";
import { containersOf, listOf, objectOf, type PodTemplate } from "./pod-template.ts";
import { forbidden, invalid, type Rule, required } from "./rule.ts";

const first = "spec.template.spec.containers[0]";

/** The first container is the one that runs programs; its start, stop and user are ours. */
export const runtimeContainers: Rule<Runtime> = ({ spec }) => {
  const template: PodTemplate = spec.template;
  const [container] = template.spec.containers;
  if (container?.name !== podContainers.runtime) {
    const advice = "Put the container that runs programs first and name it runtime.";
    return [invalid(`${first}.name`, `the first container must be named ${podContainers.runtime}`, advice)];
  }
  return [
    ...(container.image === undefined
      ? [required(`${first}.image`, "the container has no image", "Name an image that has the interpreter.")]
      : []),
    ...oursAlone(objectOf(container)),
    ...containersOf(template).flatMap((at) => [...reservedName(at), ...reservedVariables(at), ...reservedPorts(at)]),
  ];
};

function oursAlone(container: Readonly<Record<string, unknown>>): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ["command", "args"]) {
    if (container[field] === undefined) continue;
    const advice = "Leave it out; spec.server says how scripts are started.";
    errors.push(forbidden(`${first}.${field}`, "the container is started by the platform", advice));
  }
  if (objectOf(container.lifecycle).preStop !== undefined) {
    const advice = "Leave it out; a Run learns of its end by SIGTERM.";
    errors.push(forbidden(`${first}.lifecycle.preStop`, "the end of the container is led by the platform", advice));
  }
  for (const field of ["runAsUser", "runAsGroup"]) {
    if (objectOf(container.securityContext)[field] === undefined) continue;
    const path = `${first}.securityContext.${field}`;
    const advice = `Set spec.template.spec.securityContext.${field}, for the whole Pod.`;
    errors.push(forbidden(path, "all containers share one user, or they could not share files", advice));
  }
  return errors;
}

type At = ReturnType<typeof containersOf>[number];

function reservedName({ path, container: { name } }: At): FieldError[] {
  if (name !== podContainers.agent && name !== podContainers.injector) {
    if (name !== podContainers.runtime || path === first) return [];
    return [invalid(`${path}.name`, "only the first container is named runtime", "Give this container another name.")];
  }
  return [forbidden(`${path}.name`, `${name} is a container of the platform`, "Give the container another name.")];
}

function reservedVariables({ path, container }: At): FieldError[] {
  return listOf(container.env).flatMap((variable, index) => {
    const { name } = objectOf(variable);
    if (typeof name !== "string" || !name.startsWith(reservedPrefix)) return [];
    const advice = `Choose a name that does not begin with ${reservedPrefix}.`;
    return [forbidden(`${path}.env[${index}].name`, `${name} is set by the platform`, advice)];
  });
}

const ourPorts: ReadonlySet<unknown> = new Set(Object.values(podPorts));

function reservedPorts({ path, container }: At): FieldError[] {
  return listOf(container.ports).flatMap((port, index) => {
    const { containerPort } = objectOf(port);
    if (!ourPorts.has(containerPort)) return [];
    const at = `${path}.ports[${index}].containerPort`;
    return [forbidden(at, `the agent listens on port ${containerPort} of the Pod`, "Choose another port.")];
  });
}
