import type { Amounts } from "#api/quantity.ts";
import type { Change } from "#local/apiserver/index.ts";
import type { ExecuteRequest, ExecutionExit, ExecutionId } from "#runtime/executor-client.ts";
import type { Files } from "#runtime/files/port.ts";
import type { Script } from "../script.ts";

/** What is known of a Pod of the simulated node, without asking anybody who could be wrong. */
export interface PodFacts {
  readonly uid: string;
  readonly name: string;
  /** Logical capacity that its agent was told. */
  readonly capacity: Amounts;
  /** Attempts whose processes exist now. */
  readonly running: readonly ExecutionId[];
  /** Its volume /workspace. */
  readonly files: Files;
}

export interface Start {
  readonly pod: PodFacts;
  readonly request: ExecuteRequest;
  readonly script: Script;
}

/** Looks at what happens and reports what must not. The hooks are called at the very moment. */
export interface Rule {
  /** A change was committed by the API server. */
  change?(change: Change): void;
  /** An executor is about to start a program; it is not among the running ones yet. */
  start?(start: Start): void;
  /** An agent was told how a program ended. */
  exit?(pod: PodFacts, id: ExecutionId, exit: ExecutionExit): void;
  /** A program wrote a file; the path is absolute. */
  wrote?(pod: PodFacts, path: string, content: Uint8Array): void;
  /** An agent is about to remove a path of its workspace volume. */
  remove?(pod: PodFacts, path: string): void;
  /** An agent is about to remove the stored artifacts of a Run. */
  removeStored?(runUid: string): void;
  /** The node gives up the directory of a Pod. */
  podRemoved?(pod: PodFacts): void;
}

/** `rule` is a sentence that should hold; `subject` names the object that it does not hold for. */
export type Report = (rule: string, subject: string, details: string) => void;
