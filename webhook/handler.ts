import type { Clock, Logger } from "#kube/ports.ts";
import type { HttpAnswer, HttpRequest } from "#kube/process/http-server.ts";
import type { Metric } from "#kube/process/metrics.ts";
import { answerTo, MalformedReviewError, type Question, readReview } from "./admission-review.ts";
import { formFault } from "./form.ts";
import { type ReviewDeps, review } from "./review.ts";
import { admitted, type Verdict } from "./verdict.ts";

export interface HandlerDeps extends ReviewDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Handler {
  /** Answers `POST /validate`. */
  handle(request: Pick<HttpRequest, "body">): Promise<HttpAnswer>;
  metrics(): readonly Metric[];
}

type Result = "admitted" | "refused" | "failed";

const results: Readonly<Record<Verdict["kind"], Result>> = {
  admitted: "admitted",
  invalid: "refused",
  forbidden: "refused",
  undecided: "failed",
};

/**
 * Judges objects that are to be written. What cannot be judged is an HTTP error, not an answer: then the failurePolicy
 * of the webhook decides, which knows whether to let pass or not. Only a permission that could not be decided is always refused.
 */
export function createHandler({ clock, logger, ...deps }: HandlerDeps): Handler {
  const counts = new Map<string, { readonly labels: Record<string, string>; value: number }>();
  let seconds = 0;

  function count(title: string, result: Result): void {
    const [operation = "", kind = ""] = title.split(" ");
    const key = `${title} ${result}`;
    const entry = counts.get(key) ?? { labels: { operation, kind, result }, value: 0 };
    entry.value++;
    counts.set(key, entry);
  }

  async function judge(question: Question): Promise<HttpAnswer> {
    const verdict = question.review === undefined ? admitted : await review(question.review, deps);
    count(question.title, results[verdict.kind]);
    if (verdict.kind === "undecided")
      logger.error("a permission could not be decided", tell(question, verdict.message));
    else if (verdict.kind === "forbidden") logger.info("a permission was refused", tell(question, verdict.message));
    return { status: 200, type: "application/json", body: answerTo(question, verdict) };
  }

  return {
    async handle({ body }) {
      const begun = clock.monotonic();
      let question: Question | undefined;
      try {
        question = readReview(body);
        return await judge(question);
      } catch (error) {
        const title = question?.title ?? "? ?";
        count(title, "failed");
        logger.error("an admission review failed", { review: title, error });
        const fault = faultOfCaller(error, question);
        const message = fault ?? (error instanceof Error ? error.message : String(error));
        return { status: fault === undefined ? 500 : 400, body: `${message}\n` };
      } finally {
        seconds += (clock.monotonic() - begun) / 1000;
      }
    },
    metrics: () => [
      {
        name: "kruntimes_webhook_reviews_total",
        type: "counter",
        help: "Admission reviews by what came of them.",
        samples: [...counts.values()],
      },
      {
        name: "kruntimes_webhook_review_seconds_total",
        type: "counter",
        help: "Time from the whole request to its answer.",
        samples: [{ value: seconds }],
      },
    ],
  };
}

/** What the caller did wrong, if that is why a review failed. */
function faultOfCaller(error: unknown, question: Question | undefined): string | undefined {
  if (error instanceof MalformedReviewError) return error.message;
  // What JavaScript throws when something is not there, or when there is no end to it.
  const isOfForm = error instanceof TypeError || error instanceof RangeError;
  return isOfForm && question?.review !== undefined ? formFault(question.review) : undefined;
}

const tell = ({ title, review: asked }: Question, message: string) => ({
  review: title,
  object: `${asked?.namespace}/${asked?.object.metadata.name ?? ""}`,
  message,
});
