/** Creating, changing and deleting examples. Each request makes one version of its dataset. */
import { type Database, database } from "../../../db/client.ts";
import { Problem } from "../../../lib/problem.ts";
import {
  measureExamples,
  listDatasetIds,
  eraseExamples,
  type ExampleRow,
  type ExampleState,
  findExamples,
  hashesOfExamples,
  hashesWithout,
  idsByDataset,
  knownIds,
  writeVersion,
  whenUnchanged,
  metadataOfExamples,
} from "./store.ts";
import { openSealedBlobs } from "../../../access/encryption/blobs.ts";
import { loadRing } from "../../../access/encryption/keys.ts";
import type { ExampleAttachment } from "../datasets/table.ts";
import { withinBytes } from "../../../lib/bytes.ts";
import type { DatasetRow } from "../datasets/store.ts";
import { blobKey, ExampleBlobs, datasetPrefix, type SchemaCheck, enforceSchemas } from "./bodies.ts";
import type { ExampleInput } from "./input.ts";
import {
  ATTACHMENT_LIST_BYTES,
  EXAMPLE_METADATA_BYTES,
  type AttachmentOperations,
  type MetadataOperation,
} from "./schema.ts";
import { type SourceRun, sourceRuns } from "./source.ts";

/** The most bytes of stored examples that one request changes. They are read and written at once. */
const MAX_BYTES = 16 * 1024 * 1024;
/** This many examples are always below it. */
const FEW = 100;

/** @throws Problem 413 when the examples with these ids are too large for one request */
export async function boundExamples(db: Database, workspaceId: string, ids: string[]): Promise<void> {
  if (ids.length <= FEW) return;
  const bytes = await measureExamples(db, workspaceId, { id: ids, limit: ids.length, offset: 0 });
  if (bytes <= MAX_BYTES) return;
  throw new Problem(413, `These examples are larger than ${MAX_BYTES} bytes together. Send fewer at a time.`);
}

/** The split of an example that names none. */
const BASE_SPLIT = ["base"];

export interface WrittenVersion {
  ids: string[];
  /** The time of the version, milliseconds. */
  asOf: number;
}

/**
 * Creates examples. An example that exists with the same content is left as it is, so that a request can be repeated.
 * @throws Problem 409 when an id is in use by an example with other content.
 */
export async function createExamples(env: Env, dataset: DatasetRow, given: ExampleInput[]): Promise<WrittenVersion> {
  refuseRepeated(given);
  const db = database(env.DB);
  const { workspaceId } = dataset;
  const ids = given.map(({ id }) => id);
  const blobs = new ExampleBlobs(datasetPrefix(workspaceId, dataset.id), await loadRing(env, workspaceId));
  const sources = await sourceRuns(env, workspaceId, given);
  const now = Date.now();
  const made = { blobs, now, enforce: enforceSchemas(dataset) };
  const states: ExampleState[] = [];
  for (const example of given)
    states.push(await toCreated(example, sources.get(example.head.source_run_id ?? ""), made));
  const existing = new Map((await storedRows(db, workspaceId, ids)).map((row) => [row.id, row]));
  const fresh = states.filter((state) => {
    const row = existing.get(state.id);
    if (row && !(row.datasetId === dataset.id && isSame(row, state))) {
      throw new Problem(409, `An example with the id ${state.id} exists.`);
    }
    return !row;
  });
  await blobs.store(openSealedBlobs(env));
  if (fresh.length === 0) return { ids, asOf: dataset.examplesAt };
  return { ids, asOf: await writeVersion(db, workspaceId, dataset.id, { states: fresh }) };
}

/**
 * Changes examples. What a request leaves out stays as it is.
 * @throws Problem 404 when there is no such example, 409 when it is another dataset's.
 */
export async function updateExamples(env: Env, dataset: DatasetRow, given: ExampleInput[]): Promise<WrittenVersion> {
  refuseRepeated(given);
  const db = database(env.DB);
  const { workspaceId } = dataset;
  const ids = given.map(({ id }) => id);
  const known = await knownIds(db, workspaceId, dataset.id, ids);
  const missing = ids.find((id) => !known.has(id));
  if (missing !== undefined) throw await explainAbsent(db, workspaceId, missing);
  const blobs = new ExampleBlobs(datasetPrefix(workspaceId, dataset.id), await loadRing(env, workspaceId));
  const enforce = enforceSchemas(dataset);
  for (const example of given) await enforce(example.id, example);
  const changes = new Map(given.map((example) => [example.id, toStoredChange(example, blobs)]));
  await blobs.store(openSealedBlobs(env));
  const asOf = await whenUnchanged(async () => {
    const rows = await storedRows(db, workspaceId, ids);
    const states = rows.flatMap((row) => changes.get(row.id)?.(row) ?? []);
    return writeVersion(db, workspaceId, dataset.id, { replaced: rows, states });
  });
  return { ids, asOf };
}

async function explainAbsent(db: Database, workspaceId: string, id: string): Promise<Problem> {
  const [elsewhere] = await listDatasetIds(db, workspaceId, [id]);
  if (elsewhere === undefined) return new Problem(404, `Example ${id} not found in this dataset.`);
  return new Problem(409, `Example ${id} belongs to another dataset.`);
}

/** Ends examples. Earlier versions of their datasets still have them. */
export async function removeExamples(env: Env, workspaceId: string, ids: string[]): Promise<void> {
  const db = database(env.DB);
  for (const [datasetId, removed] of await idsByDataset(db, workspaceId, ids)) {
    await writeVersion(db, workspaceId, datasetId, { removed });
  }
}

/**
 * Deletes examples from every version, with their R2 objects. The rows name the objects and are deleted after them, so that a
 * request that failed can be sent again.
 */
export async function eraseForGood(env: Env, workspaceId: string, ids: string[]): Promise<void> {
  await removeExamples(env, workspaceId, ids);
  const db = database(env.DB);
  for (const datasetId of await listDatasetIds(db, workspaceId, ids)) {
    const { all, own } = await hashesOfExamples(db, workspaceId, datasetId, ids);
    const deleteObjects = async (hashes: string[]) => {
      const keys = hashes.map((hash) => blobKey({ workspaceId, datasetId }, hash));
      for (let at = 0; at < keys.length; at += 1000) await env.BLOBS.delete(keys.slice(at, at + 1000));
    };
    await deleteObjects(own);
    await eraseExamples(db, workspaceId, datasetId, ids);
    // An object that was shared with examples that another request erased at the same time.
    const shared = all.filter((hash) => !own.includes(hash));
    await deleteObjects(await hashesWithout(db, workspaceId, datasetId, ids, shared));
  }
}

/** The current states of these examples. @throws Problem 413 when they are too large for one request */
async function storedRows(db: Database, workspaceId: string, ids: string[]): Promise<ExampleRow[]> {
  await boundExamples(db, workspaceId, ids);
  return findExamples(db, workspaceId, ids);
}

function refuseRepeated(given: ExampleInput[]): void {
  const seen = new Set<string>();
  for (const { id } of given) {
    if (seen.has(id)) throw new Problem(422, `Invalid body: the example ${id} occurs twice.`);
    seen.add(id);
  }
}

async function toCreated(
  given: ExampleInput,
  source: SourceRun | undefined,
  { blobs, now, enforce }: { blobs: ExampleBlobs; now: number; enforce: SchemaCheck },
): Promise<ExampleState> {
  const { id, head } = given;
  const inputs = given.inputs ?? source?.inputs;
  if (!inputs) throw new Problem(422, `Invalid example ${id}: inputs is required.`);
  const outputs = given.outputs ?? source?.outputs;
  await enforce(id, { inputs, ...(outputs && { outputs }) });
  const attachments = [...(source?.attachments ?? []), ...given.attachments].map((file) => blobs.addAttachment(file));
  return {
    id,
    createdAt: head.created_at ?? now,
    name: head.name ?? null,
    ...bodyColumns("inputs", blobs, inputs),
    ...bodyColumns("outputs", blobs, outputs),
    metadata: buildMetadata(head.metadata ?? {}, head.split, BASE_SPLIT),
    attachments: listAttachments(attachments),
    sourceRunId: head.source_run_id ?? null,
  };
}

/** Places the given bodies and attachments. Returns how they change a stored example. */
function toStoredChange(
  { head, operations, ...given }: ExampleInput,
  blobs: ExampleBlobs,
): (row: ExampleRow) => ExampleState {
  const inputs = given.inputs && bodyColumns("inputs", blobs, given.inputs);
  const outputs = given.outputs && bodyColumns("outputs", blobs, given.outputs);
  const added = given.attachments.map((file) => blobs.addAttachment(file));
  return (row) => ({
    id: row.id,
    createdAt: row.createdAt,
    name: head.name ?? row.name,
    inputs: row.inputs,
    inputsHash: row.inputsHash,
    outputs: row.outputs,
    outputsHash: row.outputsHash,
    ...inputs,
    ...outputs,
    metadata: buildMetadata(head.metadata ?? row.metadata, head.split, row.metadata["dataset_split"] ?? BASE_SPLIT),
    attachments: listAttachments([...keepBodies(row.attachments, operations, added), ...added]),
    sourceRunId: head.source_run_id ?? row.sourceRunId,
  });
}

function bodyColumns<N extends "inputs" | "outputs">(name: N, blobs: ExampleBlobs, json: Uint8Array | undefined) {
  const { text, hash } = json ? blobs.addBody(json) : { text: null, hash: null };
  return { [name]: text, [`${name}Hash`]: hash } as Record<N | `${N}Hash`, string | null>;
}

/** The split is part of the metadata, as the SDKs read it. */
function buildMetadata(metadata: ExampleRow["metadata"], split: string[] | undefined, usual: unknown) {
  const dataset_split = split ?? metadata["dataset_split"] ?? usual;
  return withinBytes({ ...metadata, dataset_split }, EXAMPLE_METADATA_BYTES, "metadata, with its split,");
}

/** A later attachment replaces an earlier one of the same name. */
function listAttachments(attachments: ExampleAttachment[]): ExampleAttachment[] {
  const byName = new Map(attachments.map((attachment) => [attachment.name, attachment]));
  return withinBytes([...byName.values()], ATTACHMENT_LIST_BYTES, "the list of attachments");
}

/** Without operations all attachments are kept, or replaced when there are new ones. */
function keepBodies(
  attachments: ExampleAttachment[],
  operations: AttachmentOperations | undefined,
  added: ExampleAttachment[],
): ExampleAttachment[] {
  if (!operations) return added.length > 0 ? [] : attachments;
  const { rename = {}, retain = [] } = operations;
  const names = new Set(attachments.map(({ name }) => name));
  const unknown = [...Object.keys(rename), ...retain].find((name) => !names.has(name));
  if (unknown !== undefined) throw new Problem(422, "Invalid attachments_operations: an attachment is not known.");
  if (retain.some((name) => Object.hasOwn(rename, name)))
    throw new Problem(422, "Invalid attachments_operations: an attachment is retained and renamed.");
  const left = attachments.flatMap((attachment) => {
    const { name } = attachment;
    if (Object.hasOwn(rename, name)) return [{ ...attachment, name: rename[name] ?? name }];
    return retain.includes(name) ? [attachment] : [];
  });
  // One of them would be lost.
  if (new Set(left.map(({ name }) => name)).size < left.length)
    throw new Problem(422, "Invalid attachments_operations: two attachments get the same name.");
  return left;
}

function isSame(row: ExampleRow, state: ExampleState): boolean {
  const content = ({ inputs, outputs, inputsHash, outputsHash, metadata, attachments }: ExampleState) =>
    JSON.stringify([inputs, outputs, inputsHash, outputsHash, metadata, attachments]);
  return content(row) === content(state);
}

// Changes of the metadata of many examples at once. Splits are part of the metadata.

/**
 * Applies the operations in their order, to all examples in one version. Returns the ids of the examples that the dataset has.
 * @throws Problem 413 when the examples are too large for one request.
 */
export async function changeMetadata(
  db: Database,
  { workspaceId, id: datasetId }: DatasetRow,
  ids: string[],
  operations: MetadataOperation[],
): Promise<Set<string>> {
  await boundExamples(db, workspaceId, ids);
  return whenUnchanged(() => changeOnce(db, workspaceId, datasetId, ids, operations));
}

async function changeOnce(
  db: Database,
  workspaceId: string,
  datasetId: string,
  ids: string[],
  operations: MetadataOperation[],
): Promise<Set<string>> {
  const rows = await metadataOfExamples(db, workspaceId, datasetId, ids);
  if (rows.length === 0) return new Set();
  const metadata = rows.map((row) => ({ ...row, metadata: applyOperations(row.metadata, operations) }));
  await writeVersion(db, workspaceId, datasetId, { replaced: rows, metadata });
  return new Set(rows.map(({ id }) => id));
}

function applyOperations(metadata: ExampleRow["metadata"], operations: MetadataOperation[]): ExampleRow["metadata"] {
  const entries = new Map(Object.entries(metadata));
  for (const { key, operation, value, values = [] } of operations) {
    if (operation === "SET") entries.set(key, value ?? null);
    else entries.set(key, changedList(key, entries.get(key), operation === "ARRAY_ADD", values));
  }
  return withinBytes(Object.fromEntries(entries), EXAMPLE_METADATA_BYTES, "metadata, with what is stored,");
}

function changedList(key: string, stored: unknown, adds: boolean, values: string[]): unknown[] {
  const list: unknown[] = Array.isArray(stored) ? stored : key === "dataset_split" ? ["base"] : [];
  return adds ? [...new Set([...list, ...values])] : list.filter((item) => !values.includes(item as string));
}
