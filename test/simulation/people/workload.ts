import { runs } from "#api/resources.ts";
import type { World } from "../world.ts";
import { Person } from "./person.ts";
import {
  changePool,
  createClaim,
  createPool,
  poolNames,
  reopenPools,
  resizePool,
  scalePool,
  togglePool,
} from "./pools.ts";
import { cancelRun, createRun, createWorkspace, deleteRun, deleteWorkspace } from "./runs.ts";
import { createWorkflow, createWorkflowRun, deleteWorkflow, deleteWorkflowRun } from "./workflows.ts";

/** Mean milliseconds between two deeds of people. */
const meanPauseMs = 2000;

/** What people do, and how often in proportion. */
const deeds = {
  createRun: 30,
  createRuns: 2,
  createWorkspace: 6,
  createWorkflow: 1.5,
  createWorkflowRun: 7,
  cancelRun: 4,
  deleteRun: 3,
  touchRun: 4,
  deleteWorkspace: 2,
  deleteWorkflowRun: 1.5,
  deleteWorkflow: 0.5,
  scalePool: 1.5,
  changePool: 0.7,
  resizePool: 0.3,
  togglePool: 0.5,
} as const;
type Deed = keyof typeof deeds;

/** People at work on a cluster. */
export class Workload {
  readonly #world: World;
  readonly #person: Person;
  readonly #limit: number;
  #done = 0;

  /** @param limit deeds after which they rest; a failing seed is made shorter by it */
  constructor(world: World, limit: number) {
    this.#world = world;
    this.#person = new Person(world, "people");
    this.#limit = limit;
  }

  get done(): number {
    return this.#done;
  }

  /** The pools, and something to begin with. */
  async begin(): Promise<void> {
    await createClaim(this.#person);
    for (const name of poolNames) await createPool(this.#person, name);
    await createWorkspace(this.#person, poolNames);
    await createWorkflow(this.#person, poolNames);
    this.#next();
  }

  /** What is closed is opened again, so that what waits for it can go on. */
  async end(): Promise<void> {
    await reopenPools(this.#person);
  }

  #next(): void {
    const { clock, faults } = this.#world;
    clock.after(this.#person.dice.around(meanPauseMs), () => {
      if (!faults.active || this.#done >= this.#limit) return;
      this.#done++;
      void this.#do(this.#person.dice.weighted(deeds)).then(() => this.#next());
    });
  }

  async #do(deed: Deed): Promise<void> {
    const person = this.#person;
    switch (deed) {
      case "createRun":
        return createRun(person, poolNames);
      case "createRuns":
        for (let count = person.dice.int(3, 12); count > 0; count--) await createRun(person, poolNames);
        return;
      case "createWorkspace":
        return createWorkspace(person, poolNames);
      case "createWorkflow":
        return createWorkflow(person, poolNames);
      case "createWorkflowRun":
        return createWorkflowRun(person, poolNames);
      case "cancelRun":
        return cancelRun(person);
      case "deleteRun":
        return deleteRun(person);
      case "touchRun": {
        // Somebody else's write between a read and a write is what conflicts come from.
        const run = person.any(runs);
        if (run === undefined) return;
        return person.patch(runs, run.metadata.name, { metadata: { annotations: { touched: person.name("by") } } });
      }
      case "deleteWorkspace":
        return deleteWorkspace(person);
      case "deleteWorkflowRun":
        return deleteWorkflowRun(person);
      case "deleteWorkflow":
        return deleteWorkflow(person);
      case "scalePool":
        return scalePool(person);
      case "changePool":
        return changePool(person);
      case "resizePool":
        return resizePool(person);
      case "togglePool":
        return togglePool(person);
      default:
        deed satisfies never;
    }
  }
}
