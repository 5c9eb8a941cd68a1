import type { World } from "../world.ts";
import { askMuch, askOnce, changeSpec, deleteAction, resumeAll } from "./actions.ts";
import { Person } from "./person.ts";

/** Mean milliseconds between two deeds. */
const meanPauseMs = 3000;

/** What people want of runs that are there, and how often in proportion. */
const deeds = { askOnce: 20, askMuch: 4, changeSpec: 1.5, deleteAction: 1.5 } as const;

const work = { askOnce, askMuch, changeSpec, deleteAction };

/** People who suspend, resume, stop and retry what others have started. */
export class Operations {
  readonly #world: World;
  readonly #person: Person;
  readonly #limit: number;
  #done = 0;

  /** @param limit deeds after which they rest */
  constructor(world: World, limit: number) {
    this.#world = world;
    this.#person = new Person(world, "operators");
    this.#limit = limit;
  }

  get done(): number {
    return this.#done;
  }

  begin(): void {
    const { clock, faults } = this.#world;
    clock.after(this.#person.dice.around(meanPauseMs), () => {
      if (!faults.active || this.#done >= this.#limit) return;
      this.#done++;
      void work[this.#person.dice.weighted(deeds)](this.#person).then(() => this.begin());
    });
  }

  /** Most of what waits for people is let go on. */
  async end(): Promise<void> {
    await resumeAll(this.#person);
  }
}
