import type { Runtime } from "../kinds/runtime.ts";
import { isReservedVolume, reservedMount } from "../pod-layout.ts";
import { containersOf, listOf, objectOf } from "./pod-template.ts";
import { forbidden, type Rule } from "./rule.ts";

const rename = "Give the volume another name.";

/** Volumes and mounts of ours are not for templates: they hold the executor, its socket and other Runs' files. */
export const runtimeVolumes: Rule<Runtime> = ({ spec }) => [
  ...listOf(objectOf(spec.template.spec).volumes).flatMap((volume, index) => {
    const { name } = objectOf(volume);
    if (typeof name !== "string" || !isReservedVolume(name)) return [];
    const path = `spec.template.spec.volumes[${index}].name`;
    const advice = name === "workspace" ? "Set the source of the workspace in spec.workspace." : rename;
    return [forbidden(path, `${name} is a volume of the platform`, advice)];
  }),
  ...containersOf(spec.template).flatMap(({ path, container }) =>
    listOf(container.volumeMounts).flatMap((mount, index) => {
      const { name, mountPath } = objectOf(mount);
      const at = `${path}.volumeMounts[${index}]`;
      if (typeof name === "string" && isReservedVolume(name)) {
        const advice = "Mount a volume of your own; the container runtime has the workspace already.";
        return [forbidden(`${at}.name`, `${name} is a volume of the platform`, advice)];
      }
      const ours = typeof mountPath === "string" ? reservedMount(mountPath) : undefined;
      if (ours === undefined) return [];
      const message = `${mountPath} is in the way of ${ours}, which the platform mounts`;
      return [forbidden(`${at}.mountPath`, message, "Mount the volume somewhere else.")];
    }),
  ),
];
