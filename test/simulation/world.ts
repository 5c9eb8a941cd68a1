import type { Run } from "#api/kinds/run.ts";
import type { KubeObject } from "#api/meta.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import type { Clock, Logger } from "#kube/ports.ts";
import type { Client, ResourceType } from "#kube/resource.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { localAdmission } from "#local/admission.ts";
import {
  type AdmissionRule,
  type ApiServer,
  type Change,
  createApiServer,
  createMemoryStorage,
  type Storage,
  type UserInfo,
} from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";
import { controllerUser, systemUser } from "#local/identities.ts";
import { Dice } from "./dice.ts";
import { type FaultKind, Faults } from "./faults.ts";
import { Life } from "./life.ts";
import { Network } from "./network.ts";
import { observedStorage } from "./observed-storage.ts";
import type { Report, Rule } from "./rules/rule.ts";
import { describeChange } from "./summary.ts";
import { Trace } from "./trace.ts";

/** The namespace in which everything happens. */
export const namespace = "sim";

/** Made once for all worlds: the definitions are never changed. */
const crds = platformCrds();

/** So few that watches fall behind now and then. */
const watchHistory = 500;

const runsResource = resourceOf(runs);

/** Questions for the time at one moment after which nobody believes that it will ever go on. */
const maxQuestions = 200_000;

/** Something that must not happen has happened. */
export interface Violation {
  readonly rule: string;
  readonly subject: string;
  readonly details: string;
}

/** A process is to be ended at one of its next calls. */
interface Arm {
  left: number;
  readonly when: "before" | "after";
}

/** Processes are users under their own names; admission has to know which of them is the controller. */
const identify = (user: UserInfo = systemUser): UserInfo =>
  user.username.startsWith("controllers#") ? controllerUser : user;

/** Clock, dice, API server, network, and the processes that live in it. */
export class World {
  readonly seed: number;
  readonly clock = new VirtualClock();
  readonly trace = new Trace(this.clock);
  readonly faults: Faults;
  readonly storage: Storage;
  readonly api: ApiServer;
  readonly network: Network;
  /** Somebody at a keyboard whose line never fails. */
  readonly user: Client;
  readonly violations: Violation[] = [];
  readonly lives = new Set<Life>();
  readonly #rules: Rule[] = [];
  readonly #births = new Map<string, number>();
  readonly #arms = new Map<Life, Arm>();
  #questions = { moment: 0, count: 0 };
  readonly #skews = new Map<string, number>();
  readonly #runs = new Map<string, Run>();

  constructor(seed: number, without: ReadonlySet<FaultKind>) {
    this.seed = seed;
    this.faults = new Faults(seed, without);
    this.storage = observedStorage(createMemoryStorage(watchHistory), (change) => this.#changed(change));
    this.api = createApiServer({
      crds,
      admission: [this.#admission()],
      clock: this.clock,
      random: new Dice(seed, "api").random,
      watchHistory,
      storage: this.storage,
    });
    this.user = createClient(memoryTransport(this.api, this.clock));
    this.network = new Network(this.api, this.clock, this.faults);
  }

  /** The webhook for workflows may be away, and is not waited for: its failurePolicy is Ignore. */
  #admission(): AdmissionRule {
    const rule = localAdmission(() => this.user, this.clock, identify);
    const dice = new Dice(this.seed, "webhook");
    return (request) => (request.kind === workflowRuns.kind && dice.chance(0.5) ? undefined : rule(request));
  }

  readonly report: Report = (rule, subject, details) => {
    this.violations.push({ rule, subject, details });
    this.trace.add(`VIOLATION ${rule}: ${subject}: ${details}`);
  };

  addRules(...rules: readonly Rule[]): void {
    this.#rules.push(...rules);
  }

  /** Calls a hook of every rule. */
  tell(hook: (rule: Rule) => void): void {
    for (const rule of this.#rules) hook(rule);
  }

  /** All objects of a kind as they are now. */
  objects<T extends KubeObject>(kind: ResourceType<T>): T[] {
    return [...this.storage.list(resourceOf(kind), namespace)] as unknown as T[];
  }

  object<T extends KubeObject>(kind: ResourceType<T>, name: string): T | undefined {
    return this.storage.get({ resource: resourceOf(kind), namespace, name }) as unknown as T | undefined;
  }

  /** A process begins on a machine; processes of one machine share its clock, right or wrong. */
  birth(kind: string, label = kind, machine = label): Life {
    const number = (this.#births.get(label) ?? 0) + 1;
    this.#births.set(label, number);
    const life = new Life({
      name: `${label}#${number}`,
      kind,
      clock: this.clockOf(machine),
      watcher: (one, point, when) => this.atPoint(one, point, when),
    });
    this.lives.add(life);
    life.onEnd(() => {
      this.lives.delete(life);
      this.#arms.delete(life);
    });
    this.trace.add(`${life.name} starts`);
    return life;
  }

  /** The clock of a machine, which may be wrong by a second or so. */
  clockOf(machine: string): Clock {
    let skewMs = this.#skews.get(machine);
    if (skewMs === undefined) {
      skewMs = this.faults.strikes("clockSkew", 1) ? this.faults.dice("skew").int(-1500, 1500) : 0;
      this.#skews.set(machine, skewMs);
    }
    const { clock } = this;
    const skew = skewMs;
    return {
      now: () => {
        this.#noteQuestion(machine);
        return clock.now() + skew;
      },
      monotonic: () => clock.monotonic(),
      after: (ms, fn) => clock.after(ms, fn),
    };
  }

  /** Who goes round without letting time pass asks for it again and again. */
  #noteQuestion(machine: string): void {
    const moment = this.clock.monotonic();
    if (moment !== this.#questions.moment) this.#questions = { moment, count: 0 };
    if (++this.#questions.count < maxQuestions) return;
    this.report("time goes on", machine, `the time was asked for ${maxQuestions} times at ${moment}`);
    throw new Error("time stands still");
  }

  /** Ends a living process of the kind at one of its next calls, before or after it; false when there is none. */
  arm(kind: string, dice: Dice): boolean {
    const candidates = [...this.lives].filter((life) => life.kind === kind && !this.#arms.has(life));
    if (candidates.length === 0) return false;
    this.#arms.set(dice.pick(candidates), { left: dice.int(0, 30), when: dice.pick(["before", "after"]) });
    return true;
  }

  /** The log of a process. What nobody foresaw is logged as an error, so there must be none. */
  logger(life: Life): Logger {
    const line = (message: string, fields: Readonly<Record<string, unknown>> = {}) => {
      const { error, ...rest } = fields;
      const text = error instanceof Error ? (error.stack ?? error.message) : error;
      return `${message} ${JSON.stringify(rest)}${text === undefined ? "" : ` ${text}`}`;
    };
    return {
      debug: () => {},
      info: () => {},
      warn: (message, fields) => {
        const { error } = fields ?? {};
        const why = error instanceof Error ? `: ${error.message}` : "";
        if (life.alive) this.trace.add(`${life.name} warns: ${message}${why}`);
      },
      error: (message, fields) => {
        if (life.alive) this.report("no process logs an error", life.name, line(message, fields));
      },
    };
  }

  /** A process is about to do something, or has done it: it may end here. */
  atPoint(life: Life, point: string, when: "before" | "after"): void {
    const arm = this.#arms.get(life);
    if (arm === undefined || !this.faults.active || arm.when !== when || arm.left-- > 0) return;
    this.trace.add(`${life.name} crashes ${when} ${point}`);
    life.end();
  }

  /** A Run by UID, also after it was deleted. */
  runOf(uid: string): Run | undefined {
    return this.#runs.get(uid);
  }

  #changed(change: Change): void {
    if (change.resource === runsResource) this.#runs.set(change.object.metadata.uid, change.object as unknown as Run);
    this.trace.add(describeChange(change));
    this.tell((rule) => rule.change?.(change));
  }
}

/** The name under which the API server keeps a kind. */
export function resourceOf({ group, plural }: Pick<ResourceType<KubeObject>, "group" | "plural">): string {
  return group === "" ? plural : `${plural}.${group}`;
}
