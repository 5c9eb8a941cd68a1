import { expect, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import type { WatchEvent } from "#api/meta.ts";
import { runs } from "#api/resources.ts";
import { aRun } from "#cli/testing/objects.ts";
import { createClient } from "#kube/client.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { failure, StatusError, type Transport, TransportError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { DeletedError, watchObject } from "./watch-object.ts";

/** One answer of the server after the other: a Run or an error for a GET, events for a watch. */
type Answer = Run | Error | readonly (WatchEvent<Run> | Error)[];

function scripted(answers: Answer[]): Transport {
  const next = () => {
    const answer = answers.shift();
    if (answer === undefined) throw new Error("the script has no more answers");
    if (answer instanceof Error) throw answer;
    return answer;
  };
  async function* events(list: readonly (WatchEvent<Run> | Error)[]) {
    for (const event of list) {
      if (event instanceof Error) throw event;
      yield event;
    }
  }
  return {
    request: async <T>() => next() as T,
    stream: async <T>() => events(next() as readonly (WatchEvent<Run> | Error)[]) as AsyncIterable<T>,
    close: async () => {},
  };
}

const run = (phase: "Running" | "Succeeded", uid = "1"): Run => {
  const one = aRun("a", { phase });
  return { ...one, metadata: { ...one.metadata, uid, resourceVersion: "5" } };
};
const modified = (object: Run): WatchEvent<Run> => ({ type: "MODIFIED", object });
const away = new TransportError("connection refused");
const status = (code: number, reason: string) => new StatusError(failure(code, reason, reason));

async function watch(answers: Answer[], signal?: AbortSignal) {
  const clock = new VirtualClock();
  const seen: (string | undefined)[] = [];
  const watching = watchObject(
    runs,
    { name: "a", namespace: "default" },
    {
      until: (object) => object.status?.phase === "Succeeded",
      onChange: (object) => seen.push(object.status?.phase),
      ...(signal && { signal }),
    },
    { client: createClient(scripted(answers)), clock, random: seededRandom(1) },
  );
  let over = false;
  const result = watching.then(
    (object) => object?.status?.phase,
    (error: unknown) => error,
  );
  void result.then(() => {
    over = true;
  });
  for (let turn = 0; turn < 100 && !over; turn++) await clock.advance(1000);
  return { result: await result, seen };
}

test("what is there already is not watched", async () => {
  expect(await watch([run("Succeeded")])).toEqual({ result: "Succeeded", seen: ["Succeeded"] });
});

test("each change is told until it is as it should be", async () => {
  const events = [modified(run("Running")), modified(run("Succeeded")), modified(run("Running"))];
  expect(await watch([run("Running"), events])).toEqual({
    result: "Succeeded",
    seen: ["Running", "Running", "Succeeded"],
  });
});

const breaks: Record<string, Answer[]> = {
  "a watch that ends": [[]],
  "a watch that breaks": [[away]],
  "a version that is too old": [[{ type: "ERROR", object: failure(410, "Expired", "too old") } as never]],
  "a server that is away for a while": [[away], away, status(503, "ServiceUnavailable")],
  "a server that is busy": [[status(429, "TooManyRequests")]],
};

test.each(Object.entries(breaks))("%s is asked again", async (_, answers) => {
  expect((await watch([run("Running"), ...answers, run("Succeeded")])).result).toBe("Succeeded");
});

const ends: Record<string, Answer[]> = {
  "an object that is deleted": [run("Running"), [{ type: "DELETED", object: run("Running") }]],
  "an object that was deleted meanwhile": [run("Running"), [away], status(404, "NotFound")],
  "an object that was replaced": [run("Running"), [away], run("Succeeded", "2")],
};

test.each(Object.entries(ends))("%s is waited for no longer", async (_, answers) => {
  expect((await watch(answers)).result).toBeInstanceOf(DeletedError);
});

test("what was never there, and a server that never answered, are told at once", async () => {
  expect((await watch([status(404, "NotFound")])).result).toMatchObject({ code: 404 });
  expect((await watch([away])).result).toBe(away);
  expect((await watch([run("Running"), [], status(403, "Forbidden")])).result).toMatchObject({ code: 403 });
});

test("a signal ends it without a result", async () => {
  expect((await watch([run("Running")], AbortSignal.abort())).result).toBeUndefined();
});
