import { type ControllerDeps, createInformers, startInformers } from "#controllers/informers.ts";
import { createWorkflowActionController } from "#controllers/workflow-action/index.ts";
import { createWorkflowRunController } from "#controllers/workflow-run/index.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { type Transport, TransportError } from "#kube/transport.ts";
import type { ControlPlane } from "./control-plane.ts";

/** One life of the controllers, which ends at a write; nothing of it is left then but what is stored. */
export class Life {
  readonly #ending = new AbortController();
  #writesLeft: number;

  /**
   * @param writes after which it dies
   * @param recorder takes its Events
   */
  constructor(
    plane: ControlPlane,
    writes = Number.POSITIVE_INFINITY,
    actionTtlSeconds = 3600,
    recorder?: ControllerDeps["recorder"],
  ) {
    this.#writesLeft = writes;
    const line = memoryTransport(plane.api, plane.clock);
    const dead = () => new TransportError("the process is dead");
    const dying: Transport = {
      ...line,
      request: async (request) => {
        if (this.#ending.signal.aborted) throw dead();
        if (request.method !== "GET" && this.#writesLeft-- <= 0) {
          this.#ending.abort();
          throw dead();
        }
        return line.request(request);
      },
      stream: line.stream.bind(line),
    } as Transport;
    const common = { client: createClient(dying), clock: plane.clock, random: seededRandom(7), logger: silentLogger };
    const deps = { ...common, ...(recorder !== undefined && { recorder }) };
    const informers = createInformers(deps);
    const controllers = [
      createWorkflowRunController(deps, informers, { workspaceTtlSeconds: 60 }),
      createWorkflowActionController(deps, informers, { ttlSeconds: actionTtlSeconds }),
    ];
    void startInformers(informers, this.#ending.signal)
      .then(() => {
        for (const controller of controllers) controller.start(this.#ending.signal);
      })
      .catch(() => {});
  }

  get isOver(): boolean {
    return this.#ending.signal.aborted;
  }

  end(): void {
    this.#ending.abort();
  }
}
