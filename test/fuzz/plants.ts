/** For each target, code with a fault in it: a target that does not find it would find nothing in ours either. */

import { parseDuration } from "#api/duration.ts";
import { encodeRecords } from "#api/log-lines.ts";
import { wholeNumber } from "#api/quantity.ts";
import { RecordLine } from "#api/record-line.ts";
import { parseTime } from "#api/time.ts";
import { parseManifests } from "#cli/manifests/parse.ts";
import { compileSelector } from "#controllers/scheduler/label-selector.ts";
import { decodeCursor } from "#extension-api/logs/cursor.ts";
import { parseLogQuery } from "#extension-api/logs/query.ts";
import { loadClusterAccess } from "#kube/kubeconfig.ts";
import { parseFieldSelector } from "#local/apiserver/selectors/field.ts";
import { parseLabelSelector } from "#local/apiserver/selectors/label.ts";
import { readBody } from "#local/http/body.ts";
import { lifecycle } from "#machines/index.ts";
import { ArtifactInvalidError } from "#runtime/artifacts/store.ts";
import { unpackTarGz } from "#runtime/artifacts/unpack.ts";
import { parseOutputs } from "#runtime/outputs/parse.ts";
import { createCodec } from "#runtime/proto/codec.ts";
import { schema } from "#runtime/proto/gen/schema.gen.ts";
import { compileWorkflow } from "#workflows/compile-workflow.ts";
import { compileCondition, compileTemplate } from "#workflows/expressions/compile.ts";
import { evaluateCondition, evaluateTemplate } from "#workflows/expressions/evaluate.ts";
import { compileScript } from "#workflows/script/compile-script.ts";
import type { Target } from "./target.ts";
import { affinity } from "./targets/affinity.ts";
import { amounts } from "./targets/amounts.ts";
import { archiveFiles } from "./targets/archives.ts";
import { bodies } from "./targets/bodies.ts";
import { cursors, logQueries } from "./targets/cursors.ts";
import { expressions } from "./targets/expressions.ts";
import { kubeconfigs } from "./targets/kubeconfigs.ts";
import { printedOutput, realRecords, recordLines } from "./targets/log-records.ts";
import { manifestFiles } from "./targets/manifests.ts";
import { outputs } from "./targets/outputs.ts";
import { patches, realPatches } from "./targets/patches.ts";
import { requests, server } from "./targets/requests.ts";
import { scripts } from "./targets/scripts.ts";
import { fieldSelectors, labelSelectors } from "./targets/selectors.ts";
import { statuses } from "./targets/statuses.ts";
import { webhook, webhookBodies } from "./targets/webhook.ts";
import { wire } from "./targets/wire.ts";
import { workflowSpecs } from "./targets/workflows.ts";

const codec = createCodec<Record<string, unknown>>(schema);
const handler = webhook();
const language = { compileTemplate, compileCondition, evaluateTemplate, evaluateCondition };
const api = server();
const run = lifecycle("run");

/** Each by the fault that it has. */
export const plants: Readonly<Record<string, Target>> = {
  "a message that is cut off is another error": wire({
    ...codec,
    decode: (name, bytes) => {
      try {
        return codec.decode(name, bytes);
      } catch {
        throw new RangeError("index out of range");
      }
    },
  }),
  "a list of nothing is a failure of the webhook": webhookBodies({
    ...handler,
    handle: async (request) =>
      request.body.includes("[null]") ? { status: 500, body: "null" } : handler.handle(request),
  }),
  "a body with a name of every JavaScript object is an error": bodies((method, bytes, type) => {
    if (bytes.includes("__proto__")) throw new TypeError("it is not extensible");
    return readBody(method, bytes, type);
  }),
  "an update with null in it is an error": requests({
    ...api,
    handle: async (request) => {
      if (request.method === "PUT" && Object.values(Object(request.body)).includes(null))
        throw new TypeError("it is null");
      return api.handle(request);
    },
  }),
  "a merge changes the object in place": patches({
    ...realPatches,
    merge: (current, patch) => Object.assign(Object(current), patch),
  }),
  "the last requirement is not looked at": labelSelectors((text) => parseLabelSelector(text.replace(/,[^,]*$/, ""))),
  "what is escaped stays escaped": fieldSelectors((text) =>
    parseFieldSelector(text).map((term) => ({ ...term, value: term.value.replaceAll("\\", "\\\\") })),
  ),
  "everything has a label called constructor": affinity((selector) => {
    const compiled = compileSelector(selector);
    return { ...compiled, matches: (labels) => compiled.matches({ constructor: "function", ...labels }) };
  }),
  "values lose the spaces at their ends": outputs((file) => {
    const parsed = parseOutputs(file);
    if (!parsed.ok) return parsed;
    const trimmed = Object.entries(parsed.outputs).map(([key, value]) => [key, `${value} `] as const);
    return { ok: true, outputs: Object.fromEntries(trimmed) };
  }),
  "errors have no place": expressions({
    ...language,
    compileTemplate: (text, scope, path) => {
      const { template, errors } = compileTemplate(text, scope, path);
      return {
        template,
        errors: errors.map((error) => ({ ...error, message: error.message.replace(/^\d+:\d+/, "1:0") })),
      };
    },
  }),
  "a template that is wrong is taken as right": workflowSpecs((spec, where) => {
    const compiled = compileWorkflow(spec, where);
    return compiled.ok
      ? compiled
      : compileWorkflow({ jobs: { a: { "runs-on": "b", steps: [{ name: "s", run: "true" }] } } });
  }),
  "values are put into the script": scripts((template, ...rest) => {
    const result = compileScript(template, ...rest);
    return result.ok ? { ok: true, script: { ...result.script, source: template.text } } : result;
  }),
  "an archive that climbs out writes outside": archiveFiles(async (files, ...rest) => {
    try {
      await unpackTarGz(files, ...rest);
    } catch (error) {
      if (error instanceof ArtifactInvalidError && error.message.includes('".."')) await files.makeDirectory("/w/out");
      throw error;
    }
  }),
  "an archive's size is not looked at": archiveFiles((files, bytes, directory, limits) =>
    unpackTarGz(files, bytes, directory, { ...limits, bytes: Number.POSITIVE_INFINITY }),
  ),
  "a reader takes another attempt": recordLines({
    ...realRecords,
    read: (line) => RecordLine.read(line.replace('"attempt":2', '"attempt":1')),
  }),
  "spaces at the end of a line are lost": printedOutput({
    ...realRecords,
    encode: (records) => encodeRecords(records.map((one) => ({ ...one, message: one.message.trimEnd() }))),
  }),
  "a cursor goes on one record too late": cursors((run, text) => {
    const place = decodeCursor(run, text);
    return { ...place, seq: place.seq + 1 };
  }),
  "a number of lines is not checked": logQueries((query) => ({
    ...parseLogQuery({}),
    tailLines: Number(query.tailLines ?? 1),
  })),
  "a status loses its message": statuses([
    {
      ...run,
      ...(run.persistence && {
        persistence: {
          ...run.persistence,
          toStatus: (snapshot) => ({ ...run.persistence?.toStatus(snapshot), message: undefined }),
        },
      }),
    },
  ]),
  "a problem stands before the file": manifestFiles((file, text) => {
    const { documents, problems } = parseManifests(file, text);
    return { documents, problems: problems.map((problem) => ({ ...problem, line: problem.line - 1 })) };
  }),
  "an error says what JavaScript misses": kubeconfigs((choice) => {
    try {
      return loadClusterAccess(choice);
    } catch {
      throw new TypeError("Cannot read properties of null (reading 'clusters')");
    }
  }),
  "quantities are counted in floating point": amounts({
    parseDuration,
    parseTime,
    wholeNumber: (text) => {
      const [, digits] = /^(\d*\.\d+)k$/.exec(text) ?? [];
      const value = Number(digits) * 1000;
      return digits === undefined ? wholeNumber(text) : Number.isSafeInteger(value) ? value : undefined;
    },
  }),
};
