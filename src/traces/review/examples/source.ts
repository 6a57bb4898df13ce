/** Copies examples of one dataset to another of the workspace. */
import { database } from "../../../db/client.ts";
import { type SealedBlobs as StoredBlobs, openSealedBlobs } from "../../../access/encryption/blobs.ts";
import { loadRing } from "../../../access/encryption/keys.ts";
import { CONNECTIONS, inParallel } from "../../../lib/parallel.ts";
import { Problem } from "../../../lib/problem.ts";
import { blobKey, ExampleBlobs, datasetPrefix, enforceSchemas, type NewAttachment } from "./bodies.ts";
import { EXAMPLES } from "./schema.ts";
import { type ExampleRow, type ExampleQuery, listExamples, measureExamples, writeVersion } from "./store.ts";
import type { DatasetRow } from "../datasets/store.ts";
import { requirePermission } from "../../../access/auth/roles.ts";
import { isObject, parseJson } from "../../../lib/json.ts";
import type { Principal } from "../../../http/principal.ts";
import { attachmentKey } from "../../ingest/payloads.ts";
import { eachRun } from "../../query/find.ts";
import { runBlobPrefix } from "../../stub.ts";
import type { QueriedRun } from "../../types.ts";
import type { ExampleInput } from "./input.ts";

type CopiedExamples = Pick<ExampleQuery, "id" | "splits" | "asOf">;

/** The most bytes of bodies in D1 and the most objects in R2 that one request copies. An object takes two calls. */
const MAX_COPIED_BYTES = 16 * 1024 * 1024;
const MAX_OBJECTS = 1_000;

/**
 * Copies the examples that `which` selects, in one version of the target. Returns their new ids, made by `newId` from the place in
 * the list. @throws Problem 413 when they are too many or too large, 422 when one breaks a schema of the target
 */
export async function cloneExamples(
  env: Env,
  source: DatasetRow,
  target: DatasetRow,
  which: CopiedExamples,
  newId: (place: number) => string,
): Promise<string[]> {
  const db = database(env.DB);
  const wanted = { ...which, dataset: source.id, limit: EXAMPLES + 1, offset: 0 };
  if ((await measureExamples(db, source.workspaceId, wanted)) > MAX_COPIED_BYTES) {
    throw new Problem(413, `The examples are larger than ${MAX_COPIED_BYTES} bytes. Copy fewer at a time.`);
  }
  const rows = await listExamples(db, source.workspaceId, wanted);
  if (rows.length > EXAMPLES) throw new Problem(413, `More than ${EXAMPLES} examples. Copy fewer at a time.`);
  if (rows.length === 0) return [];
  const objects = listObjects(rows, target);
  if (objects.size > MAX_OBJECTS) {
    throw new Problem(413, `More than ${MAX_OBJECTS} large bodies and attachments. Copy fewer examples at a time.`);
  }
  const enforce = enforceSchemas(target);
  for (const row of rows) {
    const [inputs, outputs] = [await readBody(env, row, "inputs", target), await readBody(env, row, "outputs", target)];
    await enforce(row.id, { ...(inputs && { inputs }), ...(outputs && { outputs }) });
  }
  const ring = await loadRing(env, target.workspaceId);
  const bodies = new ExampleBlobs(datasetPrefix(target.workspaceId, target.id), ring);
  const states = rows.map((row, place) => ({
    ...row,
    ...(ring.isOn && moveAttachments(row, bodies)),
    id: newId(place),
  }));
  await copyObjects(openSealedBlobs(env), objects);
  await bodies.store(openSealedBlobs(env));
  await writeVersion(db, target.workspaceId, target.id, { states });
  return states.map(({ id }) => id);
}

/** The body to check against the target's schema; undefined if there is no schema. */
async function readBody(
  env: Env,
  row: ExampleRow,
  part: "inputs" | "outputs",
  { inputsSchema, outputsSchema }: DatasetRow,
) {
  if (!(part === "inputs" ? inputsSchema : outputsSchema)) return undefined;
  const hash = row[`${part}Hash`];
  const text = hash ? await (await openSealedBlobs(env).get(blobKey(row, hash)))?.text() : row[part];
  return text === null || text === undefined ? undefined : Buffer.from(text);
}

/** Bodies that were stored in the row before the workspace had a key. */
function moveAttachments(row: ExampleRow, bodies: ExampleBlobs): Partial<ExampleRow> {
  const place = (text: string | null) => (text === null ? undefined : bodies.addBody(Buffer.from(text)));
  const [inputs, outputs] = [place(row.inputs), place(row.outputs)];
  return {
    ...(inputs && { inputs: inputs.text, inputsHash: inputs.hash }),
    ...(outputs && { outputs: outputs.text, outputsHash: outputs.hash }),
  };
}

/** The keys of the objects of the rows in R2, with those that they have in the target. */
function listObjects(rows: ExampleRow[], target: DatasetRow): Map<string, string> {
  const hashes = rows.flatMap(({ inputsHash, outputsHash, attachments }) => [
    inputsHash,
    outputsHash,
    ...attachments.map(({ hash }) => hash),
  ]);
  const keys = new Map<string, string>();
  for (const hash of new Set(hashes.filter((one) => one !== null))) {
    const to = blobKey({ workspaceId: target.workspaceId, datasetId: target.id }, hash);
    const [row] = rows;
    if (row) keys.set(blobKey(row, hash), to);
  }
  return keys;
}

async function copyObjects(blobs: StoredBlobs, keys: Map<string, string>): Promise<void> {
  await inParallel(keys, CONNECTIONS, async ([from, to]) => {
    const object = await blobs.get(from);
    if (object)
      await blobs.put(to, new Uint8Array(await object.arrayBuffer()), { httpMetadata: object.httpMetadata ?? {} });
  });
}

// Inputs, outputs and attachments that an example takes over from a run.

export interface SourceRun {
  inputs?: Uint8Array;
  outputs?: Uint8Array;
  attachments: NewAttachment[];
}

/** The most examples of a request that take over from runs, and the most bytes that they take. */
const MAX_SOURCE_RUNS = 100;
const MAX_SOURCE_BYTES = 20 * 1024 * 1024;

const takesOver = ({ head }: ExampleInput) =>
  head.use_source_run_io === true || (head.use_source_run_attachments?.length ?? 0) > 0;

/** @throws Problem 403 when an example takes over from a run, and the caller may not read runs. */
export function checkSources(principal: Principal, given: ExampleInput[]): void {
  if (given.some(takesOver)) requirePermission(principal, "traces.read");
}

/**
 * What the examples take over, by the id of the run.
 * @throws Problem 404 when a run is not found, 413 when too much is taken over.
 */
export async function sourceRuns(
  env: Env,
  workspaceId: string,
  given: ExampleInput[],
): Promise<Map<string, SourceRun>> {
  const taking = given.filter(takesOver);
  const ids = [...new Set(taking.flatMap(({ head }) => head.source_run_id ?? []))];
  if (taking.length === 0) return new Map();
  if (taking.length > MAX_SOURCE_RUNS)
    throw new Problem(413, `At most ${MAX_SOURCE_RUNS} examples of a request take over from runs.`);
  if (taking.some(({ head }) => !head.source_run_id)) {
    throw new Problem(422, "Invalid example: source_run_id is required to take over from a run.");
  }
  let held = 0;
  const find = { projectIds: [], selection: { ids }, order: "desc" as const, limit: MAX_SOURCE_RUNS };
  const payloads = ["inputs", "outputs"] as const;
  const runs = new Map<string, QueriedRun>();
  for await (const run of eachRun(env, workspaceId, { ...find, payloads: [...payloads], values: [...payloads] })) {
    runs.set(run.id, run);
    held += payloads.reduce((sum, name) => sum + (run[name]?.length ?? 0), 0);
    if (held > MAX_SOURCE_BYTES) throw tooMuch();
  }
  const sources = new Map<string, SourceRun>();
  let bytes = 0;
  for (const { head } of taking) {
    const run = runs.get(head.source_run_id ?? "");
    if (!run) throw new Problem(404, `Run ${head.source_run_id ?? ""} not found.`);
    const source = await takeRun(env, run, head.use_source_run_io === true, head.use_source_run_attachments ?? []);
    bytes += (source.inputs?.byteLength ?? 0) + (source.outputs?.byteLength ?? 0);
    for (const { data } of source.attachments) bytes += data.byteLength;
    if (bytes > MAX_SOURCE_BYTES) throw tooMuch();
    sources.set(run.id, source);
  }
  return sources;
}

const tooMuch = () => new Problem(413, `A request takes over at most ${MAX_SOURCE_BYTES} bytes from runs.`);

async function takeRun(env: Env, run: QueriedRun, io: boolean, names: string[]): Promise<SourceRun> {
  const attachments: NewAttachment[] = [];
  for (const name of names) {
    const known = run.attachments.find((attachment) => attachment.name === name);
    const object = known && (await openSealedBlobs(env).get(attachmentKey(runBlobPrefix(run), run.id, name)));
    if (!known || !object) throw new Problem(404, "The run has no attachment of one of these names.");
    attachments.push({ name, type: known.type, data: new Uint8Array(await object.arrayBuffer()) });
  }
  return { attachments, ...(io && { inputs: objectText(run.inputs), outputs: objectText(run.outputs) }) };
}

/** Bodies of examples are objects. Another value becomes a member, as in the SDKs. */
function objectText(json: string | null): Uint8Array | undefined {
  if (json === null) return undefined;
  return Buffer.from(isObject(parseJson(json)) ? json : `{"output":${json}}`);
}
