import type { KubeObject } from "#api/meta.ts";
import type { ResourceType } from "#kube/resource.ts";
import { isConflict, isNotFound, StatusError } from "#kube/transport.ts";
import type { Dice } from "../dice.ts";
import { namespace, type World } from "../world.ts";

/** What one person does: creates, changes and deletes objects, and does not mind when somebody was faster. */
export class Person {
  readonly world: World;
  readonly dice: Dice;
  #count = 0;

  constructor(world: World, purpose: string) {
    this.world = world;
    this.dice = world.faults.dice(purpose);
  }

  /** A name that nobody else gives. */
  name(prefix: string): string {
    return `${prefix}-${++this.#count}`;
  }

  async create<T extends KubeObject>(kind: ResourceType<T>, object: T): Promise<void> {
    const of = kind.kind === "WorkflowAction" ? ` ${JSON.stringify("spec" in object ? object.spec : {})}` : "";
    await this.#tried(`creates ${kind.kind} ${object.metadata.name}${of}`, async () => {
      await this.world.user.of(kind).create({ ...object, metadata: { ...object.metadata, namespace } });
    });
  }

  async patch<T extends KubeObject>(kind: ResourceType<T>, name: string, patch: unknown): Promise<void> {
    await this.#tried(`patches ${kind.kind} ${name}`, async () => {
      await this.world.user.of(kind).patch({ name, namespace }, patch);
    });
  }

  async delete<T extends KubeObject>(kind: ResourceType<T>, name: string): Promise<void> {
    await this.#tried(`deletes ${kind.kind} ${name}`, () => this.world.user.of(kind).delete({ name, namespace }));
  }

  /** Any object of the kind. */
  any<T extends KubeObject>(kind: ResourceType<T>, where: (object: T) => boolean = () => true): T | undefined {
    const all = this.world.objects(kind).filter(where);
    return all.length === 0 ? undefined : this.dice.pick(all);
  }

  async #tried(what: string, deed: () => Promise<void>): Promise<void> {
    this.world.trace.add(`somebody ${what}`);
    try {
      await deed();
    } catch (error) {
      // A workspace or a Workflow that has just gone is refused by admission (422), and that is right.
      const refused =
        error instanceof StatusError &&
        error.code === 422 &&
        /spec\.((workspace|workflowRef)\.name|jobs\.\w+\.uses)/.test(error.message);
      if (refused || isNotFound(error) || isConflict(error)) return;
      this.world.report("what people ask for is accepted", what, String(error));
    }
  }
}
