import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { isKind, type Kind, kinds } from "../crd/kinds.ts";
import { type Structural, structural } from "../crd/structural.ts";
import { apiVersion } from "../labels.ts";
import type { KubeObject } from "../meta.ts";
import { validateCreate } from "./index.ts";

const examples = join(import.meta.dirname, "../../examples");
const manifests = readdirSync(examples, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".yaml"))
  .flatMap((path) =>
    parseAllDocuments(readFileSync(join(examples, path), "utf8")).map(
      (document, index) => [`${path} document ${index + 1}`, document.toJS() as KubeObject] as const,
    ),
  );

const ajv = new Ajv({ strict: false, formats: { int32: true, int64: true, "date-time": true } });

/** The schema as a client sees it that sends `fieldValidation=Strict`: a field that is not described is an error. */
function strict(node: Structural): object {
  const members = Object.entries(node.properties ?? {}).map(([name, member]) => [name, strict(member)] as const);
  const closed = node.properties !== undefined && !node["x-kubernetes-preserve-unknown-fields"];
  return {
    ...node,
    ...(node.properties && { properties: Object.fromEntries(members) }),
    ...(closed && { additionalProperties: false }),
    ...(node.additionalProperties && { additionalProperties: strict(node.additionalProperties) }),
    ...(node.items && { items: strict(node.items) }),
  };
}

/** Compiling the patterns of a kind takes a while, so it happens once. */
const validators = new Map<Kind, ValidateFunction>();

function validatorOf(kind: Kind): ValidateFunction {
  const validate = validators.get(kind) ?? ajv.compile(strict(structural(kinds[kind].spec)));
  validators.set(kind, validate);
  return validate;
}

test.each(manifests)("%s would be accepted", (_, object) => {
  expect(object.metadata.name ?? object.metadata.generateName).toMatch(/^[a-z]/);
  if (object.apiVersion !== apiVersion) return;
  const kind = object.kind ?? "";
  if (!isKind(kind)) throw new Error(`${kind} is no kind of ${apiVersion}`);
  const validate = validatorOf(kind);
  validate("spec" in object ? object.spec : undefined);
  expect(validate.errors ?? []).toEqual([]);
  expect(validateCreate(kind, object)).toEqual([]);
});

test("the data-sharing example is that of the specification", () => {
  const workflow = manifests.find(([name]) => name === "data-sharing/workflow.yaml document 1")?.[1];
  expect(workflow).toEqual({
    apiVersion: "kruntimes.io/v1alpha1",
    kind: "Workflow",
    metadata: { name: "ci-data-sharing-demo" },
    spec: {
      jobs: {
        build: {
          "runs-on": "bash",
          steps: [
            { name: "checkout", run: "mkdir -p src\necho 'print(\"hello\")' > src/app.py\n" },
            { name: "test", run: 'test -f src/app.py\necho "tests=passed" >> "$KRUNTIME_OUTPUTS"\n' },
            {
              name: "package",
              run: 'mkdir -p "$KRUNTIME_ARTIFACTS_DIR"\ntar -czf "$KRUNTIME_ARTIFACTS_DIR/dist.tgz" src\n',
            },
          ],
        },
        deploy: {
          "runs-on": "bash",
          needs: ["build"],
          steps: [
            {
              name: "verify-artifact",
              artifacts: [{ from: "jobs.build.artifacts.dist.tgz", path: "dist.tgz" }],
              run: 'tar -tzf dist.tgz\necho "artifact verified"\n',
            },
          ],
        },
      },
    },
  });
});

const wrong: Record<string, { spec: object; at: string }> = {
  "an unknown field": { spec: { runtime: "bash", sauce: {} }, at: "" },
  "an unknown field inside": { spec: { runtime: "bash", source: { inlined: "x" } }, at: "/source" },
  "a number for a text": { spec: { runtime: 5 }, at: "/runtime" },
  "a text for a list": { spec: { runtime: "bash", env: "A=1" }, at: "/env" },
  "a list for an object": { spec: { runtime: "bash", mode: [] }, at: "/mode" },
  "nothing required": { spec: {}, at: "" },
};

test.each(Object.entries(wrong))("a strict client learns of %s", (_, { spec, at }) => {
  const validate = validatorOf("Run");
  expect(validate(spec)).toBe(false);
  expect(validate.errors?.[0]?.instancePath).toBe(at);
});
