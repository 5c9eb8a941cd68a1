import { jsonEqual } from "#api/json.ts";
import type { FormerInstance, JobStatus } from "#api/kinds/workflow-run.ts";
import { newJob } from "#machines/job.ts";
import type { MatrixInstance } from "#workflows/matrix.ts";

type Values = MatrixInstance["values"];

/**
 * An instance that its matrix did not have before. After a Retry no child may have the name of one of an earlier attempt, so it begins
 * with the number of its job; what instances with the same values have done before stays known.
 */
export function newInstance({ attempt = 1, opened, former }: JobStatus, values: Values): JobStatus {
  const known = former?.find(({ matrix }) => jsonEqual(matrix, values));
  return {
    ...newJob(),
    ...(attempt > 1 && { attempt }),
    ...(opened !== undefined && { opened }),
    ...(known !== undefined && { attempts: known.attempts }),
    matrix: { ...values },
  };
}

/** Those of the former instances that the matrix does not have again. */
export function stillFormer(former: readonly FormerInstance[], instances: readonly { readonly values: Values }[]) {
  return former.filter(({ matrix }) => !instances.some(({ values }) => jsonEqual(values, matrix)));
}
