import { expect, test } from "vitest";
import { member } from "../manifests/members.ts";
import { manifestsOf } from "../testing/manifests.ts";
import { aWorkflowRun } from "../testing/objects.ts";
import { jobOrders } from "./job-order.ts";

const job = (needs = "") => `{runs-on: bash, ${needs}steps: [{name: a, run: "true"}]}`;
const definitions = manifestsOf(`apiVersion: kruntimes.io/v1alpha1
kind: Workflow
metadata: {name: ci}
spec:
  jobs:
    last: ${job("needs: [middle], ")}
    middle: ${job("needs: [first], ")}
    first: ${job()}
`);

test("jobs stand in the order of the graph, for a Workflow that is referred to", () => {
  const orderOf = jobOrders({ definitions }, [aWorkflowRun("ci-1", {})]);
  expect(orderOf("ci-1")).toEqual(["first", "middle", "last"]);
  expect(orderOf("another")).toBeUndefined();
});

test("and for jobs that the WorkflowRun holds itself", () => {
  const jobs = member(definitions[0]?.object.spec, "jobs") as Record<string, never>;
  const own = { ...aWorkflowRun("own-1", {}), spec: { jobs } };
  expect(jobOrders({ definitions: [] }, [own])("own-1")).toEqual(["first", "middle", "last"]);
});

test("a Workflow of another namespace has nothing to say", () => {
  const elsewhere = aWorkflowRun("ci-1", {});
  elsewhere.metadata.namespace = "other";
  expect(jobOrders({ definitions }, [elsewhere])("ci-1")).toBeUndefined();
});
