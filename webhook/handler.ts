import type { Clock, Logger } from "#kube/ports.ts";
import type { HttpAnswer, HttpRequest } from "#kube/process/http-server.ts";
import type { Metric } from "#kube/process/metrics.ts";
import { answerTo, MalformedReviewError, type Question, readReview } from "./admission-review.ts";
import { type Lookups, review } from "./review.ts";

export interface HandlerDeps {
  readonly lookups: Lookups;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Handler {
  /** Answers `POST /validate`. */
  handle(request: Pick<HttpRequest, "body">): Promise<HttpAnswer>;
  metrics(): readonly Metric[];
}

/** Below the 5 s that the API server waits, so that it hears from us what took so long. */
const deadlineMs = 4000;

class TooSlowError extends Error {}

type Result = "admitted" | "refused" | "failed";

/**
 * Judges objects that are to be written. What cannot be judged is an HTTP error, never an answer: then the failurePolicy
 * of the webhook decides, which knows whether to let pass or not.
 */
export function createHandler({ lookups, clock, logger }: HandlerDeps): Handler {
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
    const errors =
      question.review === undefined ? [] : await withinDeadline(review(question.review, lookups), clock, deadlineMs);
    count(question.title, errors.length === 0 ? "admitted" : "refused");
    return { status: 200, type: "application/json", body: answerTo(question, errors) };
  }

  return {
    async handle({ body }) {
      const begun = clock.monotonic();
      let title = "? ?";
      try {
        const question = readReview(body);
        title = question.title;
        return await judge(question);
      } catch (error) {
        count(title, "failed");
        logger.error("an admission review failed", { review: title, error });
        const message = error instanceof Error ? error.message : String(error);
        return { status: error instanceof MalformedReviewError ? 400 : 500, body: `${message}\n` };
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

function withinDeadline<T>(work: Promise<T>, clock: Clock, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new TooSlowError(`the rules took longer than ${ms} ms`)));
    work.then(resolve, reject).finally(cancel);
  });
}
