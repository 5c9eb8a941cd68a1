import type { Target } from "./target.ts";
import { affinity } from "./targets/affinity.ts";
import { amounts } from "./targets/amounts.ts";
import { archiveFiles } from "./targets/archives.ts";
import { bodies } from "./targets/bodies.ts";
import { cursors, logQueries } from "./targets/cursors.ts";
import { expressions } from "./targets/expressions.ts";
import { kubeconfigs } from "./targets/kubeconfigs.ts";
import { printedOutput, recordLines } from "./targets/log-records.ts";
import { manifestFiles } from "./targets/manifests.ts";
import { outputs } from "./targets/outputs.ts";
import { patches } from "./targets/patches.ts";
import { requests } from "./targets/requests.ts";
import { scripts } from "./targets/scripts.ts";
import { fieldSelectors, labelSelectors } from "./targets/selectors.ts";
import { statuses } from "./targets/statuses.ts";
import { webhookBodies } from "./targets/webhook.ts";
import { wire } from "./targets/wire.ts";
import { workflowSpecs } from "./targets/workflows.ts";

/** All targets of `npm run fuzz`. */
export const targets: readonly Target[] = [
  wire(),
  webhookBodies(),
  bodies(),
  requests(),
  patches(),
  labelSelectors(),
  fieldSelectors(),
  affinity(),
  outputs(),
  expressions(),
  workflowSpecs(),
  scripts(),
  archiveFiles(),
  recordLines(),
  printedOutput(),
  cursors(),
  logQueries(),
  statuses(),
  manifestFiles(),
  kubeconfigs(),
  amounts(),
];
